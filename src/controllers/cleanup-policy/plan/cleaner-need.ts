import { finishedAt, isOpen, type RunView } from "./views.ts";

/** A cleaner that has nothing to do stays for so long, ms: the next run often comes soon. */
export const IDLE_MS = 60_000;

/** Whether a policy needs a cleaner now. */
export interface CleanerNeed {
  readonly replicas: 0 | 1;
  /** Unix ms at which it may go. */
  readonly nextAt?: number;
}

/**
 * One cleaner while there is an admitted run that looks or deletes and has not ended, and a minute longer; none while the policy is suspended.
 * @param isThere there is one now
 */
export function cleanerNeed(
  runs: readonly RunView[],
  { now, suspended, isThere }: { readonly now: number; readonly suspended: boolean; readonly isThere: boolean },
): CleanerNeed {
  if (suspended) return { replicas: 0 };
  const worked = runs.filter(({ status }) => status?.snapshot !== undefined && status.snapshot.mode !== "RecordOnly");
  if (worked.some(isOpen)) return { replicas: 1 };
  // A clock that is ahead must not keep a cleaner for as long as it is.
  const lastAt = Math.max(...worked.map(finishedAt).filter((at) => at <= now));
  return isThere && now - lastAt < IDLE_MS ? { replicas: 1, nextAt: lastAt + IDLE_MS } : { replicas: 0 };
}
