import { isFinished } from "../../../api/cleanup-run.ts";
import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import { isMerged, type Scopes } from "./scopes.ts";
import { finishedAt, instant, type RunView } from "./views.ts";

/** Runs that one look takes: the API server has others to serve. */
const MOST_AT_ONCE = 50;

/** Which finished runs are kept. */
export interface HistoryLimits {
  readonly successful: number;
  /** Of those that failed, were rejected or cancelled. */
  readonly failed: number;
  readonly minAgeMs: number;
}

/** What the defaults of `spec.history` come to, for runs whose policy is gone. */
export const DEFAULT_HISTORY: HistoryLimits = { successful: 20, failed: 50, minAgeMs: 336 * 3_600_000 };

export interface Pruning {
  /** To be deleted, oldest first. */
  readonly runs: readonly RunView[];
  /** Unix ms at which the next one will be old enough; absent: there is none. */
  readonly nextAt?: number;
}

const SUCCESSFUL: ReadonlySet<string> = new Set(["Succeeded", "CompletedWithSkips"]);

/**
 * Finished runs beyond the limits that are old enough. Kept are also the last failed run of each scope, and whatever `isKnown` does not confirm: what a run says
 * of its scope must be in a status that was written and read back before the run goes, else its id could delete once more.
 */
export function prune(
  runs: readonly RunView[],
  limits: HistoryLimits,
  now: number,
  isKnown: (run: RunView) => boolean,
): Pruning {
  const finished = runs.filter(({ status }) => isFinished(status)).toSorted(newestFirst);
  const [successful, others] = [true, false].map((wanted) =>
    finished.filter(({ status }) => SUCCESSFUL.has(status?.phase ?? "") === wanted),
  ) as [RunView[], RunView[]];
  const lastFailed = lastFailedOfScopes(finished);
  const surplus = [...successful.slice(limits.successful), ...others.slice(limits.failed)]
    .filter((run) => !lastFailed.has(run) && isKnown(run))
    .toSorted((a, b) => finishedAt(a) - finishedAt(b));
  const due = (run: RunView) => Math.max(finishedAt(run), run.createdAt) + limits.minAgeMs;
  const old = surplus.filter((run) => due(run) <= now);
  const next = surplus.filter((run) => due(run) > now).map(due);
  const nextAt = old.length > MOST_AT_ONCE ? now : Math.min(...next);
  return { runs: old.slice(0, MOST_AT_ONCE), ...(Number.isFinite(nextAt) && { nextAt }) };
}

/** Whether everything that a run says is in a status as it was read back. */
export function isKnownIn(written: CleanupPolicyStatus | undefined, scopes: Scopes, run: RunView): boolean {
  const last = instant(written?.lastRun?.finishedAt);
  return last !== undefined && last >= finishedAt(run) && isMerged(scopes, run);
}

function lastFailedOfScopes(newestFirstRuns: readonly RunView[]): ReadonlySet<RunView> {
  const last = new Map<string, RunView>();
  for (const run of newestFirstRuns) {
    const { scope } = run.spec;
    if (run.status?.phase === "Failed" && !last.has(scope)) last.set(scope, run);
  }
  return new Set(last.values());
}

function newestFirst(a: RunView, b: RunView): number {
  return finishedAt(b) - finishedAt(a) || b.name.localeCompare(a.name);
}
