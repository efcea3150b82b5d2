import type { Clock } from "../../lib/clock.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";

/** Publications of one route at once, and ms between two after that. */
const BURST = 10;
const INTERVAL_MS = 1_000;
/** A route that has not been published for this long has its whole burst again, ms. */
const FULL_MS = BURST * INTERVAL_MS;

/** How often a route may be published: a Secret that flaps must not keep the one publisher, and every gateway, from the other routes. */
export class PublicationPace {
  readonly #clock: Pick<Clock, "monotonic">;
  /** Least recently used first. */
  readonly #buckets = new Map<string, { readonly bucket: TokenBucket; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Counts a publication of a route, by its key. @returns 0, or ms until it may be published: then it is not counted */
  take(route: string): number {
    const at = this.#clock.monotonic();
    this.#forget(at - FULL_MS);
    const bucket = this.#buckets.get(route)?.bucket ?? new TokenBucket(BURST, 1 / INTERVAL_MS, at);
    const waitMs = Math.ceil(bucket.take(at));
    this.#buckets.delete(route);
    this.#buckets.set(route, { bucket, at });
    return waitMs;
  }

  /** Routes that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #forget(before: number): void {
    for (const [route, { at }] of this.#buckets) {
      if (at > before) return;
      this.#buckets.delete(route);
    }
  }
}
