import type { EventFilter } from "../operations.ts";
import type { CustodyClient } from "./connection.ts";
import { ask } from "./errors.ts";
import { readWalkedLog, type WalkedLog } from "./walks.ts";

/** Sequences of one millisecond (`custody.md` §4). */
const PER_MS = 4_096;

/** One page of a route's log for `walk-log`. */
export interface LogPage {
  readonly route: string;
  readonly filter: Partial<EventFilter>;
  /** Letters of the states that a copy may have. */
  readonly states?: string | undefined;
  /** End of the range as an earlier page said it. */
  readonly to?: number | undefined;
  readonly direction: "asc" | "desc";
  /** A sequence; empty at first. */
  readonly position: string;
  /** Events to look at. */
  readonly budget: number;
  /** Events of a list. */
  readonly limit: number;
}

/** Walks the logs of a namespace's routes. */
export class LogWalker {
  readonly #redis: CustodyClient;
  readonly #prefix: string;

  constructor(redis: CustodyClient, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  async walk(action: "list" | "count" | "cancel", page: LogPage): Promise<WalkedLog> {
    const { route, filter, states, to, direction, position, budget, limit } = page;
    const conditions = JSON.stringify({ ...rangeOf(filter), states, ...(to !== undefined && { to }) });
    const args = [action, route, conditions, direction, position, budget, limit];
    return readWalkedLog(await ask(() => this.#redis.walkLog(this.#prefix, ...args)));
  }

  /** Keys of all routes that have something in custody. */
  async routes(): Promise<readonly string[]> {
    return (await ask(() => this.#redis.smembers(`${this.#prefix}routes`))).toSorted();
  }
}

/** The filter with times as sequences. */
function rangeOf({ destination, eventType, from, to }: Partial<EventFilter>): Record<string, unknown> {
  return {
    destination,
    eventType,
    ...(from !== undefined && { from: from * PER_MS }),
    ...(to !== undefined && { to: (to + 1) * PER_MS - 1 }),
  };
}
