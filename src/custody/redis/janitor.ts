import { randomUUID } from "node:crypto";
import type { RoutePolicy } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { policyArgument } from "./inbox.ts";
import { ReplayAdvancer } from "./replays.ts";

const LOCK_MS = 900;
const INTERVAL_MS = 1_000;

/** A ticket that is missing. `servedBy`: key of the route whose own workers serve the destination, as far as the store knows. */
export interface MissingTicket {
  readonly destination: string;
  readonly generation: number;
  readonly servedBy: string | undefined;
}

type OnMissing = (tickets: readonly MissingTicket[]) => Promise<void>;

/** Copies of a route that were made live again by a replay, or removed since they were discarded 24 h ago. */
export interface OperatedCopies {
  readonly what: "replayed" | "discarded";
  /** Route key. */
  readonly route: string;
  readonly copies: number;
}

/** What a janitor goes by. */
export interface JanitorOptions {
  readonly policies: () => Iterable<RoutePolicy>;
  /** Key of the route whose own worker this is: by calling, it says that it is there. */
  readonly dedicatedRoute?: string | undefined;
  /** Is told each copy once, by one process of the namespace: for counters. */
  readonly onOperated?: ((operated: OperatedCopies) => void) | undefined;
}

/** Values of one ticket in the reply of the script. */
const TICKET_VALUES = 3;

/**
 * Calls the janitor script about once a second in every worker; a lock lets one of them do the work. While a page was full the next call follows after
 * three times as long as the last one took, so that it uses at most a quarter of its time.
 */
export class Janitor {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #options: JanitorOptions;
  readonly #replays: ReplayAdvancer;
  readonly #token = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #interval = INTERVAL_MS;
  #onMissing: OnMissing | undefined;

  constructor(redis: CustodyClient, tag: string, options: JanitorOptions) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#options = options;
    this.#replays = new ReplayAdvancer(redis, tag);
  }

  start(onMissing: OnMissing): void {
    this.#onMissing = onMissing;
    this.#schedule(Math.random() * this.#interval);
  }

  stop(): void {
    this.#onMissing = undefined;
    clearTimeout(this.#timer);
    this.#replays.stop();
  }

  /** Advances replays until none runs, or another process does it. */
  advanceReplays(): Promise<void> {
    return this.#replays.run();
  }

  /** Sets another interval (and lock) for as long as there are no tickets; `undefined` goes back to the usual one. */
  hurry(intervalMs: number | undefined): void {
    this.#interval = intervalMs ?? INTERVAL_MS;
    if (this.#onMissing) this.#schedule(intervalMs ?? INTERVAL_MS);
  }

  /** One call, for tests and for the loop. Returns ms until the next one should follow. */
  async pass(): Promise<number> {
    const began = performance.now();
    const policies: Record<string, unknown> = {};
    for (const policy of this.#options.policies()) policies[policy.route] = policyArgument(policy);
    const lockMs = Math.min(LOCK_MS, this.#interval - 50);
    const args = [this.#token, lockMs, JSON.stringify(policies), this.#options.dedicatedRoute ?? ""];
    const [more = 0, tickets = [], replaying = 0, tally = []] = await this.#redis.janitor(this.#prefix, ...args);
    const tookMs = performance.now() - began;
    this.#tell(tally);
    if (replaying) void this.advanceReplays();
    await this.#write(tickets);
    return more ? Math.min(this.#interval, 3 * tookMs) : this.#interval;
  }

  async #write(values: readonly string[]): Promise<void> {
    const missing: MissingTicket[] = [];
    for (let i = 0; i + TICKET_VALUES <= values.length; i += TICKET_VALUES) {
      const [destination = "", generation, servedBy] = values.slice(i, i + TICKET_VALUES);
      missing.push({ destination, generation: Number(generation), servedBy: servedBy || undefined });
    }
    if (missing.length > 0) await this.#onMissing?.(missing);
  }

  /** Pairs of what was done with the route's key, and how often. */
  #tell(tally: readonly string[]): void {
    for (let i = 0; i + 1 < tally.length; i += 2) {
      const [what, route = ""] = (tally[i] ?? "").split(" ");
      if (what !== "replayed" && what !== "discarded") continue;
      this.#options.onOperated?.({ what, route, copies: Number(tally[i + 1]) });
    }
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#again(), delayMs);
    this.#timer.unref();
  }

  async #again(): Promise<void> {
    const next = await this.pass().catch(() => this.#interval);
    if (this.#onMissing) this.#schedule(next);
  }
}
