/** Delay before the 2nd, 3rd, … try to tell a notice, ms; the last one repeats. */
const DELAYS_MS: readonly number[] = [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000];

/** A notice older than this is given up, ms: whoever could not be told for a day finds the state by asking. */
const GIVE_UP_MS = 86_400_000;

/** Relative: many notices that failed together do not come back together. */
const JITTER = 0.1;

/** What is known of a try that failed. */
export interface FailedTry {
  /** Unix ms at which the notice was written. */
  readonly at: number;
  /** From 1. */
  readonly attempt: number;
  /** A pause that the other side asked for, ms. It only lengthens. */
  readonly atLeastMs?: number | undefined;
}

/**
 * When to try again.
 *
 * @param now Unix ms
 * @param random uniform in [0, 1)
 * @returns ms, or `undefined` when it is given up: the next try would be later than a day after the notice
 */
export function noticeRetryMs(failed: FailedTry, now: number, random: number): number | undefined {
  const base = DELAYS_MS[Math.min(failed.attempt, DELAYS_MS.length) - 1] ?? 0;
  const delayMs = Math.max(base * (1 + JITTER * (2 * random - 1)), failed.atLeastMs ?? 0);
  return now + delayMs > failed.at + GIVE_UP_MS ? undefined : Math.round(delayMs);
}
