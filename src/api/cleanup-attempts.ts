/** Pause after an attempt that made progress or was the first without, ms; it doubles with every further one. */
export const FIRST_BACKOFF_MS = 5_000;
/** Longest pause between attempts, ms. */
export const LONGEST_BACKOFF_MS = 300_000;
/** As in the CRD. */
const MOST_ATTEMPTS = 1_000;

/** Pause before the next attempt of a run, ms. @param withoutProgress attempts without progress, one after the other */
export function backoffMs(withoutProgress: number): number {
  return Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.max(0, withoutProgress - 1));
}

/** Attempts without progress, of no length, that a deadline has room for with the pauses between them: at least one. */
export function attemptsWithin(deadlineMs: number): number {
  let attempts = 1;
  for (let waited = backoffMs(1); waited <= deadlineMs && attempts < MOST_ATTEMPTS; waited += backoffMs(attempts)) {
    attempts += 1;
  }
  return attempts;
}
