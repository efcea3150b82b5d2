import { randomUUID } from "node:crypto";
import type { CustodyClient } from "./connection.ts";

const BEAT_MS = 10_000;

/** What was found instead of the data that was there: nothing at all, or an older copy of it. */
export type Rollback = "emptied" | "older";

/** For the log of whoever is told. */
export const ROLLBACK_LINE =
  "Redis was emptied or holds an older copy of its data: events acknowledged before may be gone";

/**
 * Keeps a heartbeat inside the data itself. Redis that was flushed, or started from an old file or an old replica, cannot have the last beat:
 * events acknowledged since then may be gone, and somebody must be told.
 */
export class Incarnation {
  readonly #redis: CustodyClient;
  readonly #key: string;
  readonly #onRollback: (rollback: Rollback) => void;
  #last: { readonly id: string; readonly beat: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: CustodyClient, tag: string, onRollback: (rollback: Rollback) => void) {
    this.#redis = redis;
    this.#key = `${tag}:incarnation`;
    this.#onRollback = onRollback;
  }

  start(): void {
    this.#timer = setInterval(() => void this.beat().catch(() => undefined), BEAT_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** One beat: adds to the stored count and compares with what this process saw last. Other gateways beat as well, so it may have grown by more. */
  async beat(): Promise<void> {
    const replies = await this.#redis
      .multi()
      .hsetnx(this.#key, "id", randomUUID())
      .hincrby(this.#key, "beat", 1)
      .hget(this.#key, "id")
      .exec();
    const [, [, beat] = [], [, id] = []] = replies ?? [];
    if (typeof beat !== "number" || typeof id !== "string") return;
    const last = this.#last;
    this.#last = { id, beat };
    if (last === undefined) return;
    if (last.id !== id) this.#onRollback("emptied");
    else if (beat <= last.beat) this.#onRollback("older");
  }
}
