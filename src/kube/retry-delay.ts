/** Delay before the next try: doubles from `minMs` to `maxMs`, at most half of it random, so that many clients do not come at once. */
export class RetryDelay {
  readonly #minMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(minMs: number, maxMs: number, random: () => number = Math.random) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  /** After another failure, ms. @param atLeastMs what the server asked for, which is kept */
  next(atLeastMs = 0): number {
    const full = Math.min(this.#maxMs, this.#minMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return Math.max(atLeastMs, full / 2) + (full / 2) * this.#random();
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  reset(): void {
    this.#failures = 0;
  }
}
