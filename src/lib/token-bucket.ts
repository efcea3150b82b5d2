/** A token bucket: `burst` at once, refilled evenly. Times are ms of one monotonic clock. */
export class TokenBucket {
  readonly #burst: number;
  readonly #perMs: number;
  #tokens: number;
  #at: number;

  /** @param perMs tokens that come back in one ms */
  constructor(burst: number, perMs: number, now: number) {
    this.#burst = burst;
    this.#perMs = perMs;
    this.#tokens = burst;
    this.#at = now;
  }

  /**
   * Takes one token.
   * @returns 0 when there was one, else ms until there is
   */
  take(now: number): number {
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#perMs);
    this.#at = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return (1 - this.#tokens) / this.#perMs;
  }
}
