import { type CleanupPhase, isFinished } from "../../api/cleanup-run.ts";
import { refOf } from "../../kube/objects.ts";
import { groupBy } from "../../lib/group-by.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { CleanupIndex } from "./cleanup-index.ts";
import { finishedAt, instant, receivedAt, type RunView } from "./plan/views.ts";
import type { PolicyObject } from "../../api/cleanup-resources.ts";
import { runView } from "./object-views.ts";

const PHASES: readonly CleanupPhase[] = [
  "Pending",
  "Running",
  "Succeeded",
  "CompletedWithSkips",
  "Failed",
  "Rejected",
  "Cancelled",
];

type PolicyLabels = Readonly<Record<"namespace" | "policy", string>>;

type Gauges = Pick<
  Metrics,
  "cleanupRuns" | "cleanupOldestPendingAge" | "cleanupOldestRunningAge" | "cleanupLastSuccess" | "cleanupScheduleMissed"
>;

/** Sets the gauges of all policies from the caches, for one scrape. Only the leader shows them: two replicas would count each run twice. */
export function showCleanup(
  index: CleanupIndex,
  metrics: Gauges,
  { isLeader, now }: { readonly isLeader: boolean /** Unix ms. */; readonly now: number },
): void {
  const { cleanupRuns, cleanupOldestPendingAge, cleanupOldestRunningAge, cleanupLastSuccess, cleanupScheduleMissed } =
    metrics;
  for (const one of [cleanupRuns, cleanupOldestPendingAge, cleanupOldestRunningAge, cleanupLastSuccess]) one.reset();
  cleanupScheduleMissed.reset();
  if (!isLeader) return;
  for (const key of index.keys()) {
    const { namespace = "", name: policy } = refOf(key);
    const labels = { namespace, policy };
    const runs = index.runsOf(key).map(({ run }) => runView(run, undefined));
    showRuns(metrics, labels, runs, now);
    showStatus(metrics, labels, runs, index.policy(key));
  }
}

function showStatus(
  { cleanupLastSuccess, cleanupScheduleMissed }: Gauges,
  labels: PolicyLabels,
  runs: readonly RunView[],
  policy: Pick<PolicyObject, "spec" | "status"> | undefined,
): void {
  const { lastRun, schedule } = policy?.status ?? {};
  const success = lastSuccess(runs, lastRun);
  if (success !== undefined) cleanupLastSuccess.set(labels, success / 1_000);
  // Kept in the status, so that a new leader goes on counting where the last one was.
  if (policy?.spec.schedule !== undefined) cleanupScheduleMissed.inc(labels, schedule?.missed ?? 0);
}

function showRuns(
  { cleanupRuns, cleanupOldestPendingAge, cleanupOldestRunningAge }: Gauges,
  labels: PolicyLabels,
  runs: readonly RunView[],
  now: number,
): void {
  const phases = groupBy(runs, phaseOf);
  for (const phase of PHASES) cleanupRuns.set({ ...labels, phase }, phases.get(phase)?.length ?? 0);
  cleanupOldestPendingAge.set(labels, oldest(phases.get("Pending"), receivedAt, now));
  cleanupOldestRunningAge.set(labels, oldest(phases.get("Running"), startedAt, now));
}

function startedAt({ status, createdAt }: RunView): number {
  return instant(status?.startedAt) ?? createdAt;
}

/** One that nobody has looked at yet is pending. */
function phaseOf({ status }: RunView): CleanupPhase {
  return status?.phase ?? "Pending";
}

/** Seconds. */
function oldest(runs: readonly RunView[] = [], since: (run: RunView) => number, now: number): number {
  return Math.max(0, ...runs.map((run) => (now - since(run)) / 1_000));
}

const SUCCESS: ReadonlySet<string> = new Set(["Succeeded", "CompletedWithSkips"]);

/** Unix ms; also of a run whose record is gone, if it was the last. */
function lastSuccess(
  runs: readonly RunView[],
  last: { readonly phase: string; readonly finishedAt: string } | undefined,
): number | undefined {
  const times = runs.filter(({ status }) => isFinished(status) && SUCCESS.has(status?.phase ?? "")).map(finishedAt);
  const known = last !== undefined && SUCCESS.has(last.phase) ? instant(last.finishedAt) : undefined;
  const newest = Math.max(...times, known ?? Number.NEGATIVE_INFINITY);
  return Number.isFinite(newest) ? newest : undefined;
}
