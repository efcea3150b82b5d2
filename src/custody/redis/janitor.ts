import { randomUUID } from "node:crypto";
import type { RoutePolicy } from "../port.ts";
import type { CustodyClient } from "./connection.ts";
import { policyArgument } from "./inbox.ts";

const LOCK_MS = 900;
const INTERVAL_MS = 1_000;

/**
 * Calls the janitor script about once a second in every worker; a lock lets one of them do the work. While a page was full the next call follows after
 * three times as long as the last one took, so that it uses at most a quarter of its time.
 */
export class Janitor {
  readonly #redis: CustodyClient;
  readonly #prefix: string;
  readonly #policies: () => Iterable<RoutePolicy>;
  readonly #token = randomUUID();
  #timer: NodeJS.Timeout | undefined;
  #interval = INTERVAL_MS;
  #onTicket: ((destination: string, generation: number) => Promise<void>) | undefined;

  constructor(redis: CustodyClient, tag: string, policies: () => Iterable<RoutePolicy>) {
    this.#redis = redis;
    this.#prefix = `${tag}:`;
    this.#policies = policies;
  }

  start(onTicket: (destination: string, generation: number) => Promise<void>): void {
    this.#onTicket = onTicket;
    this.#schedule(Math.random() * this.#interval);
  }

  stop(): void {
    this.#onTicket = undefined;
    clearTimeout(this.#timer);
  }

  /** Sets another interval (and lock) for as long as there are no tickets; `undefined` goes back to the usual one. */
  hurry(intervalMs: number | undefined): void {
    this.#interval = intervalMs ?? INTERVAL_MS;
    if (this.#onTicket) this.#schedule(intervalMs ?? INTERVAL_MS);
  }

  /** One call, for tests and for the loop. Returns ms until the next one should follow. */
  async pass(): Promise<number> {
    const began = performance.now();
    const policies: Record<string, unknown> = {};
    for (const policy of this.#policies()) policies[policy.route] = policyArgument(policy);
    const lockMs = Math.min(LOCK_MS, this.#interval - 50);
    const reply = await this.#redis.janitor(this.#prefix, this.#token, lockMs, JSON.stringify(policies));
    const [more = 0, tickets = []] = reply;
    for (let i = 0; i + 1 < tickets.length; i += 2) await this.#onTicket?.(tickets[i] ?? "", Number(tickets[i + 1]));
    const tookMs = performance.now() - began;
    return more ? Math.min(this.#interval, Math.max(lockMs, 3 * tookMs)) : this.#interval;
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#again(), delayMs);
    this.#timer.unref();
  }

  async #again(): Promise<void> {
    const next = await this.pass().catch(() => this.#interval);
    if (this.#onTicket) this.#schedule(next);
  }
}
