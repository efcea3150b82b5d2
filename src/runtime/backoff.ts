/** Delays of keys that fail: client-go's per-item exponential limiter, with jitter. */
export class KeyBackoff {
  readonly #failures = new Map<string, number>();
  readonly #baseMs: number;
  readonly #capMs: number;
  readonly #random: () => number;

  /** @param random in [0, 1) */
  constructor(baseMs = 200, capMs = 300_000, random: () => number = Math.random) {
    this.#baseMs = baseMs;
    this.#capMs = capMs;
    this.#random = random;
  }

  /** Counts a failure. @returns base × 2^(failures so far), at most the cap, the upper half of it random; ms */
  next(key: string): number {
    const before = this.failures(key);
    this.#failures.set(key, before + 1);
    const full = Math.min(this.#capMs, this.#baseMs * 2 ** Math.min(before, 30));
    return full / 2 + (full / 2) * this.#random();
  }

  /** The key succeeded, or is gone. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Failures in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}
