import type { GateTransition } from "../gate.ts";
import type { DestinationPolicy, Outbox, TakenCopy, Ticket, TurnRequest, TurnResult } from "../port.ts";
import { breaksOf, type CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { parseTransition } from "./gates.ts";
import { parseMeta, type RecordMeta } from "./record.ts";
import type { TicketEnd, TurnReply } from "./scripts.ts";
import { type EndedTicket, TicketEnds } from "./ticket-ends.ts";
import type { TicketSource } from "./tickets.ts";
import { turnArguments } from "./turn-arguments.ts";

const LOOK_AGAIN_PAGE = 500;

/** Values of one copy in the reply of `turn`. */
const COPY_VALUES = 3;

/** The worker side on Redis. `token` names this process: leases carry it. */
export class RedisOutbox implements Outbox {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #token: string;
  readonly #tickets: TicketSource;
  readonly #ends: TicketEnds;

  constructor(redis: CustodyClient, tag: string, token: string, tickets: TicketSource) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#token = token;
    this.#tickets = tickets;
    this.#ends = new TicketEnds(redis, this.#prefix);
  }

  async turn(request: TurnRequest): Promise<TurnResult> {
    const { args, destinations } = turnArguments(this.#token, request);
    const breaks = breaksOf(this.#redis);
    try {
      const result = readTurn(await this.#redis.turnBuffer(this.#prefix, ...args), request, destinations);
      return breaksOf(this.#redis) === breaks ? result : { ...result, repeated: true };
    } catch (error) {
      throw asCustodyError(error);
    }
  }

  async done(ticket: Ticket, policy: DestinationPolicy): Promise<"more" | "idle"> {
    const [wake, generation] = await this.#end({
      ticket,
      mode: "drained",
      policy,
    });
    if (wake < 0) return "more";
    if (wake > 0) await this.#tickets.wake(ticket.destination, wake, Number(generation));
    return "idle";
  }

  async yield(ticket: Ticket): Promise<void> {
    const [, generation] = await this.#end({ ticket, mode: "yield" });
    await this.#tickets.add([{ destination: ticket.destination, slot: ticket.slot, generation: Number(generation) }]);
  }

  async postpone(ticket: Ticket, delayMs: number): Promise<void> {
    const [, generation, servedBy] = await this.#end({ ticket, mode: "postpone", delayMs });
    if (servedBy === undefined) return;
    await this.#tickets.handOver({ ...ticket, generation: Number(generation) }, servedBy || undefined);
  }

  async lookAgain(destinations: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < destinations.length; from += LOOK_AGAIN_PAGE) {
        const members = destinations.slice(from, from + LOOK_AGAIN_PAGE).flatMap((destination) => [0, destination]);
        // XX: only what has copies is in `busy`.
        await this.#redis.zadd(`${this.#prefix}busy`, "XX", ...members);
      }
    } catch (error) {
      throw asCustodyError(error);
    }
  }

  async widen(destination: string, slots: number): Promise<void> {
    await this.#tickets.widen(destination, slots);
  }

  start(handlers: Parameters<Outbox["start"]>[0]): Promise<() => Promise<void>> {
    return this.#tickets.start(handlers);
  }

  async #end(ended: EndedTicket): Promise<TicketEnd> {
    try {
      return await this.#ends.end(ended);
    } catch (error) {
      throw asCustodyError(error);
    }
  }
}

function readTurn(reply: TurnReply, request: TurnRequest, destinations: readonly string[]): TurnResult {
  const [fenced, unknown, workerLost, expired, waiting, nowText, values, reopens, changes] = reply;
  const now = Number(nowText.toString());
  const copies: TakenCopy[] = [];
  for (let i = 0; i + 2 < values.length; i += COPY_VALUES) {
    const [head, meta, body] = [values[i], values[i + 1], values[i + 2]];
    if (head && meta && body)
      copies.push(readCopy(head.toString().split(" "), meta.toString(), { destinations, now, body }));
  }
  return {
    copies,
    waiting: new Map(request.takes.map(({ destination }, position) => [destination, waiting[position] ?? 0])),
    fenced,
    unknown,
    workerLost,
    expired,
    gates: changes.map((change) => readChange(change.toString(), destinations)).filter((one) => one !== undefined),
    reopenMs: new Map(
      request.takes.flatMap(({ destination }, position) => {
        const ms = reopens[position] ?? 0;
        return ms > 0 ? [[destination, ms] as const] : [];
      }),
    ),
  };
}

/** An index, and the transition. */
function readChange(text: string, destinations: readonly string[]): GateTransition | undefined {
  const blank = text.indexOf(" ");
  return parseTransition(destinations[Number(text.slice(0, blank))] ?? "", text.slice(blank + 1));
}

interface CopyContext {
  readonly destinations: readonly string[];
  readonly now: number;
  readonly body: Buffer;
}

/** Head: index of the destination, id, fence, attempt, attempts used, start of the budget, last revival or 0, generation of the gate. */
function readCopy(head: readonly string[], metaText: string, { destinations, now, body }: CopyContext): TakenCopy {
  const [index, eventId = "", fence, attempt, used, first, revived = "0", generation = "0"] = head;
  const meta: RecordMeta = parseMeta(metaText);
  return {
    destination: destinations[Number(index)] ?? "",
    eventId,
    fence: Number(fence),
    attempt: Number(attempt),
    used: Number(used),
    firstAttemptAt: Number(first),
    now,
    receivedAt: meta.receivedAt,
    sequence: meta.sequence,
    seq: meta.seq,
    headers: meta.headers,
    eventType: meta.eventType,
    body,
    route: meta.route,
    gateGeneration: Number(generation),
    ...(revived !== "0" && { revivedAt: Number(revived) }),
  };
}
