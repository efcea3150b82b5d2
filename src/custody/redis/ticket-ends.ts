import { Collector } from "../../lib/collector.ts";
import type { DestinationPolicy, Ticket } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { gateArgument } from "./gates.ts";
import type { TicketEnd } from "./scripts.ts";

/** Tickets of one call: as many as a turn may have destinations. */
const MOST = 64;

const NOTHING: TicketEnd = [0, "0"];

/** A ticket that is to end, and why. */
export interface EndedTicket {
  readonly ticket: Ticket;
  readonly mode: "drained" | "yield" | "postpone";
  /** Of `drained`. */
  readonly policy?: DestinationPolicy;
  /** Of `postpone`, ms. */
  readonly delayMs?: number;
}

/** Ends tickets by the script `done`, those of one turn of the event loop in one call: many destinations with one event each end as many. */
export class TicketEnds {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #collector = new Collector<EndedTicket, Promise<TicketEnd>>(MOST, (ended) => this.#endAll(ended));

  constructor(redis: CustodyClient, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Lets Redis's errors through. */
  async end(ended: EndedTicket): Promise<TicketEnd> {
    return this.#collector.add(ended);
  }

  /** A script error is about one destination, and must not be the others': then each is asked for alone. What it has ended already, it ends once. */
  async #endAll(ended: readonly EndedTicket[]): Promise<readonly Promise<TicketEnd>[]> {
    try {
      return (await this.#call(ended)).map((end) => Promise.resolve(end));
    } catch (error) {
      if (ended.length === 1 || asCustodyError(error).code !== "Script") throw error;
      return ended.map(async (one) => (await this.#call([one]))[0] ?? NOTHING);
    }
  }

  #call(ended: readonly EndedTicket[]): Promise<TicketEnd[]> {
    const places = new Map<string, number>();
    const args: (string | number)[] = [];
    for (const { ticket, mode, policy, delayMs = 0 } of ended) {
      const { destination, generation } = ticket;
      const gate = policy && gateArgument(policy);
      const place = gate === undefined ? 0 : placeOf(JSON.stringify(gate));
      args.push(destination, generation, policy?.limit ?? 1, mode, delayMs, place, policy?.gate?.seq ?? 0);
    }
    return this.#redis.done(this.#prefix, `[${[...places.keys()].join(",")}]`, ...args);

    function placeOf(config: string): number {
      const place = places.get(config) ?? places.size + 1;
      places.set(config, place);
      return place;
    }
  }
}
