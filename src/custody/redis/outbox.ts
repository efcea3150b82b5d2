import type {
  DestinationPolicy,
  Outbox,
  RoutePolicy,
  Settle,
  TakenCopy,
  Ticket,
  TurnRequest,
  TurnResult,
} from "../port.ts";
import { breaksOf, type CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { policyArgument } from "./inbox.ts";
import { parseMeta, type RecordMeta } from "./record.ts";
import type { TurnReply } from "./scripts.ts";
import type { TicketSource } from "./tickets.ts";

/** A lease outlives the exchange's timeout by this much, so that an outcome can be settled. */
export const LEASE_MARGIN_MS = 5_000;

const OUTCOMES: Readonly<Record<Settle["outcome"], string>> = {
  delivered: "D",
  retry: "L",
  dead: "X",
  handedBack: "B",
  parked: "P",
  ignored: "I",
  expired: "E",
};

/** Values of one copy in the reply of `turn`. */
const COPY_VALUES = 3;

/** The worker side on Redis. `token` names this process: leases carry it. */
export class RedisOutbox implements Outbox {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #token: string;
  readonly #tickets: TicketSource;

  constructor(redis: CustodyClient, tag: string, token: string, tickets: TicketSource) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#token = token;
    this.#tickets = tickets;
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
    const [wake, generation] = await this.#end(ticket, policy.limit, "drained");
    if (wake < 0) return "more";
    if (wake > 0) await this.#tickets.wake(ticket.destination, wake, Number(generation));
    return "idle";
  }

  async yield(ticket: Ticket): Promise<void> {
    const [, generation] = await this.#end(ticket, 1, "yield");
    await this.#tickets.add({ destination: ticket.destination, slot: ticket.slot, generation: Number(generation) });
  }

  async postpone(ticket: Ticket, delayMs: number): Promise<void> {
    const [, generation, servedBy] = await this.#end(ticket, 1, "postpone", delayMs);
    if (servedBy === undefined) return;
    await this.#tickets.handOver({ ...ticket, generation: Number(generation) }, servedBy || undefined);
  }

  async widen(destination: string, slots: number): Promise<void> {
    await this.#tickets.widen(destination, slots);
  }

  start(handlers: Parameters<Outbox["start"]>[0]): Promise<() => Promise<void>> {
    return this.#tickets.start(handlers);
  }

  async #end(
    ticket: Ticket,
    limit: number,
    mode: string,
    delayMs = 0,
  ): Promise<[wake: number, generation: string, servedBy?: string]> {
    try {
      return await this.#redis.done(this.#prefix, ticket.destination, ticket.generation, limit, mode, delayMs);
    } catch (error) {
      throw asCustodyError(error);
    }
  }
}

function turnArguments(
  token: string,
  request: TurnRequest,
): { args: (string | number)[]; destinations: readonly string[] } {
  const destinations = [...request.policies.keys()];
  const index = new Map(destinations.map((destination, position) => [destination, position + 1]));
  const at = (destination: string): number => {
    const position = index.get(destination);
    if (position === undefined) throw new RangeError(`turn: no policy for destination ${destination}`);
    return position;
  };
  const policies = [...request.policies.values()].map((policy, position) =>
    argumentOf(policy, policy.policy, position),
  );
  const ofRoutes = new Map<string, number>();
  /** Place of the policy for the outcome of a copy: its route's, where that is not the destination's own. */
  const settledBy = ({ destination, policy: own }: Settle): number => {
    const known = request.policies.get(destination);
    if (own === undefined || known === undefined) return at(destination);
    const key = `${destination} ${own.route}`;
    const place = ofRoutes.get(key) ?? policies.push(argumentOf(known, own, at(destination) - 1));
    ofRoutes.set(key, place);
    return place;
  };
  const settles = request.settles.map((settle) => {
    const { eventId, fence, outcome, record, delayMs = 0 } = settle;
    const head = `${settledBy(settle)} ${eventId} ${fence} ${OUTCOMES[outcome]} ${record.attempt} ${Math.ceil(delayMs)}`;
    return `${head}
${JSON.stringify(record)}`;
  });
  const adoptions = [...(request.adopt ?? [])];
  const args: (string | number)[] = [
    token,
    JSON.stringify(policies),
    settles.length,
    request.takes.length,
    adoptions.length,
    ...settles,
  ];
  for (const { destination, want, started } of request.takes) args.push(at(destination), want, started ?? "");
  for (const [destination, mine] of adoptions) {
    args.push(at(destination), mine.length);
    for (const { eventId, fence } of mine) args.push(eventId, fence);
  }
  return { args, destinations };
}

function argumentOf(
  { destination, limit, timeoutMs, maxAgeMs }: DestinationPolicy,
  policy: RoutePolicy,
  index: number,
): Record<string, unknown> {
  return { ...policyArgument(policy), index, destination, limit, leaseMs: timeoutMs + LEASE_MARGIN_MS, maxAgeMs };
}

function readTurn(reply: TurnReply, request: TurnRequest, destinations: readonly string[]): TurnResult {
  const [fenced, unknown, workerLost, expired, waiting, nowText, values] = reply;
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
  };
}

interface CopyContext {
  readonly destinations: readonly string[];
  readonly now: number;
  readonly body: Buffer;
}

/** Head: index of the destination, id, fence, attempt, attempts used, start of the budget, last revival or 0. */
function readCopy(head: readonly string[], metaText: string, { destinations, now, body }: CopyContext): TakenCopy {
  const [index, eventId = "", fence, attempt, used, first, revived = "0"] = head;
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
    ...(revived !== "0" && { revivedAt: Number(revived) }),
  };
}
