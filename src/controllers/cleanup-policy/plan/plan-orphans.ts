import { orphanEndings } from "./ending.ts";
import { DEFAULT_HISTORY, prune } from "./pruning.ts";
import type { RunView, StatusWrite } from "./views.ts";

/** What is to be done for runs of a policy that is gone. */
export interface OrphanPlan {
  readonly statuses: readonly StatusWrite[];
  readonly prune: readonly RunView[];
  /** Unix ms. */
  readonly nextLookAt?: number;
}

/**
 * Ends the runs of a policy that is gone for certain: deleted, or another one has its name. Their records outlive it, within the default limits of the history: no
 * run of this UID can ever be asked for again.
 *
 * @param runs of one policy UID
 * @param now Unix ms
 */
export function planOrphans(runs: readonly RunView[], now: number): OrphanPlan {
  const ended = orphanEndings(runs, now);
  const pruned = prune(runs, DEFAULT_HISTORY, now, () => true);
  const next = Math.min(ended.nextAt ?? Number.POSITIVE_INFINITY, pruned.nextAt ?? Number.POSITIVE_INFINITY);
  return { statuses: ended.writes, prune: pruned.runs, ...(Number.isFinite(next) && { nextLookAt: next }) };
}
