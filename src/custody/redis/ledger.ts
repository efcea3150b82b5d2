import {
  type AttemptRecord,
  type CopyView,
  type DeadLetter,
  type EventView,
  type KeptHandshake,
  type Ledger,
  type Rejection,
  CustodyError,
} from "../port.ts";
import type { Backlog, SharedBacklogs } from "../backlog.ts";
import type { ProviderIdMatch, ProviderIdQuery } from "../provider-id.ts";
import { GATE_STATES, type GateTransition, type GateView } from "../gate.ts";
import type { CustodyClient } from "./connection.ts";
import { asCustodyError } from "./errors.ts";
import { RedisGates } from "./gates.ts";
import { HandshakeSecrets } from "./handshake-secrets.ts";
import { ProviderIds } from "./provider-ids.ts";
import { parseAttempt, parseCopy, parseMeta } from "./record.ts";

/** Values of one destination in the replies of `stats` and, after its id, of `sharedBacklogs`. */
const STATS_FIELDS = 8;

/** The operator's side on Redis: reads records and indexes, and replays. */
export class RedisLedger implements Ledger {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #handshakes: HandshakeSecrets;
  readonly #providerIds: ProviderIds;
  readonly #gates: RedisGates;

  constructor(redis: CustodyClient, tag: string) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#handshakes = new HandshakeSecrets(redis, tag);
    this.#providerIds = new ProviderIds(redis, tag);
    this.#gates = new RedisGates(redis, tag);
  }

  async event(id: string): Promise<EventView | undefined> {
    const fields = await this.#ask(() => this.#redis.hgetallBuffer(`${this.#prefix}e:${id}`));
    return fields["m"] === undefined ? undefined : eventView(id, fields);
  }

  async body(id: string): Promise<Buffer | undefined> {
    return (await this.#ask(() => this.#redis.hgetBuffer(`${this.#prefix}e:${id}`, "b"))) ?? undefined;
  }

  async rejections(route: string): Promise<readonly Rejection[]> {
    const rows = await this.#ask(() => this.#redis.lrange(`${this.#prefix}rejected:${route}`, 0, -1));
    return rows.map((row) => ({ ...(JSON.parse(row) as Omit<Rejection, "route">), route }));
  }

  async findByProviderId(query: ProviderIdQuery): Promise<readonly ProviderIdMatch[]> {
    const found = await this.#ask(() => this.#providerIds.find(query, Date.now()));
    return Promise.all(found.map(async (one) => ({ ...one, event: await this.#listed(one.eventId) })));
  }

  handshakes(route: string): Promise<readonly KeptHandshake[]> {
    return this.#ask(() => this.#handshakes.of(route, Date.now()));
  }

  droppedHandshakes(route: string): Promise<number> {
    return this.#ask(() => this.#handshakes.dropped(route));
  }

  async replay(id: string, destination = ""): Promise<{ readonly replayed: number }> {
    return { replayed: await this.#ask(() => this.#redis.replay(this.#prefix, id, destination)) };
  }

  async stats(destinations: readonly string[]): Promise<ReadonlyMap<string, Backlog>> {
    const values = (await this.#ask(() => this.#redis.stats(this.#prefix, ...destinations))).map(Number);
    const now = values.at(-1) ?? 0;
    return new Map(
      destinations.map((destination, index) => {
        return [destination, backlogOf(values.slice(index * STATS_FIELDS, (index + 1) * STATS_FIELDS), now)];
      }),
    );
  }

  async sharedBacklogs(query: Parameters<Ledger["sharedBacklogs"]>[0]): Promise<SharedBacklogs> {
    const { limit, cursor = "~", deliveries = false } = query;
    const [now, next, ...values] = await this.#ask(() =>
      this.#redis.sharedBacklogs(this.#prefix, cursor, limit, deliveries ? "1" : ""),
    );
    const backlogs = new Map<string, Backlog>();
    for (let at = 0; at < values.length; at += STATS_FIELDS + 1) {
      const numbers = values.slice(at + 1, at + 1 + STATS_FIELDS).map(Number);
      const backlog = backlogOf(numbers, Number(now));
      if (numbers.slice(0, 4).some(Boolean) || backlog.deliveredSecondsAgo !== undefined) {
        backlogs.set(String(values[at]), backlog);
      }
    }
    return { backlogs, ...(next !== "" && { next }) };
  }

  gates(destinations: readonly string[]): Promise<readonly GateView[]> {
    return this.#ask(() => this.#gates.gates(destinations));
  }

  gate(destination: string): Promise<GateView> {
    return this.#ask(() => this.#gates.gate(destination));
  }

  enable(destination: string): Promise<GateTransition | undefined> {
    return this.#ask(() => this.#gates.enable(destination));
  }

  hold(destination: string, untilMs: number): Promise<GateTransition | undefined> {
    return this.#ask(() => this.#gates.hold(destination, untilMs));
  }

  /** An event in a list: one that cannot be read (a newer Davit wrote it, or somebody overwrote it) must not hide the others. */
  async #listed(id: string): Promise<EventView | undefined> {
    try {
      return await this.event(id);
    } catch (error) {
      if (error instanceof CustodyError && error.code !== "Script") throw error;
      return undefined;
    }
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw asCustodyError(error);
    }
  }
}

/** Values of one destination in the reply of `stats`. `now`: Unix ms, as they are. */
function backlogOf(values: readonly number[], now: number): Backlog {
  const at = (place: number) => values[place] ?? 0;
  const ageSeconds = (time: number) => (time === 0 ? 0 : Math.max(0, (now - time) / 1_000));
  const gate = GATE_STATES[at(7) - 1];
  return {
    waiting: at(0),
    active: at(1),
    delayed: at(2),
    dead: at(3),
    oldestWaitingSeconds: ageSeconds(at(4)),
    oldestDelayedSeconds: ageSeconds(at(5)),
    ...(at(6) !== 0 && { deliveredSecondsAgo: ageSeconds(at(6)) }),
    ...(gate !== undefined && { gate }),
  };
}

/** What went wrong, in a word: the error, else the status, else the reason it was given up. */
function lastError(last: AttemptRecord): string {
  if (last.error !== undefined) return last.error;
  return last.status === undefined ? (last.reason ?? "unknown") : `status ${last.status}`;
}

/** Why the copy with these attempts is dead. */
export function failureContext(attempts: readonly AttemptRecord[]): DeadLetter["failureContext"] {
  const last = attempts.at(-1);
  if (last === undefined) return { attempts: 0, lastError: "unknown" };
  const { status, response } = last;
  return {
    attempts: last.attempt,
    lastError: lastError(last),
    ...(status !== undefined && { lastStatus: status }),
    ...(response !== undefined && { lastResponse: response }),
  };
}

/** A record's fields as a view. Throws like `parseMeta`. */
export function eventView(id: string, fields: Readonly<Record<string, Buffer>>): EventView {
  const text = (name: string) => fields[name]?.toString() ?? "";
  const meta = parseMeta(text("m"));
  return {
    id,
    route: meta.route,
    receivedAt: meta.receivedAt,
    sequence: meta.sequence,
    ...(meta.eventType !== undefined && { eventType: meta.eventType }),
    duplicates: Number(text("n") || 0),
    bodyBytes: fields["b"]?.length ?? 0,
    copies: meta.destinations.map((destination) => copyView(destination, fields)),
  };
}

function copyView(destination: string, fields: Readonly<Record<string, Buffer>>): CopyView {
  const { state, due, since, attempts: number } = parseCopy(fields[`c:${destination}`]?.toString() ?? "");
  const prefix = `a:${destination}:`;
  const attempts = Object.entries(fields)
    .filter(([name]) => name.startsWith(prefix))
    .map(([, value]) => parseAttempt(value.toString()))
    .toSorted((a, b) => a.attempt - b.attempt);
  // One that runs has no entry of its own: the copy says when it began.
  if (state === "active") attempts.push({ attempt: number, at: since, action: "started" });
  return { destination, state, attempts, ...(state === "delayed" && { dueAt: due }) };
}
