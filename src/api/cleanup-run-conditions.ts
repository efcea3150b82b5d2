import type { CleanupPhase } from "./cleanup-run.ts";
import type { CleanupRunCondition } from "./generated/cleanup-run.ts";

/** Where a run is, and why. */
export interface RunState {
  readonly phase: CleanupPhase;
  /** A word. */
  readonly reason: string;
  /** Cut to 512 characters. */
  readonly message: string;
}

/** What differs from status to status, and what the conditions were before. */
export interface RunConditionContext {
  /** Unix ms. */
  readonly now: number;
  readonly previous: readonly CleanupRunCondition[] | undefined;
  /** Of the run's spec. Absent: not known, and `observedGeneration` is left out. */
  readonly generation?: number | undefined;
}

type Met = readonly ("Ready" | "Complete" | "Failed" | "Reconciling" | "Stalled")[];

/** Conditions that are true in a phase. A run that will not do what was asked has failed, whoever ended it: so whoever waits for `Complete` or `Failed` comes to an end. */
const MET: Readonly<Record<CleanupPhase, Met>> = {
  Pending: ["Reconciling"],
  Running: ["Reconciling"],
  Succeeded: ["Ready", "Complete"],
  CompletedWithSkips: ["Ready", "Complete"],
  Failed: ["Failed", "Stalled"],
  Rejected: ["Failed", "Stalled"],
  Cancelled: ["Failed", "Stalled"],
};

const TYPES: Met = ["Ready", "Complete", "Failed", "Reconciling", "Stalled"];
const MAX_MESSAGE = 512;

/**
 * Conditions of a run: `Complete` and `Failed` as those of a Job, `Ready`, `Reconciling` and `Stalled` as kstatus reads them
 * (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md). `lastTransitionTime` moves only when `status` flips.
 */
export function runConditions(state: RunState, context: RunConditionContext): CleanupRunCondition[] {
  const met = MET[state.phase];
  return TYPES.map((type) => {
    const status = met.includes(type) ? "True" : "False";
    const before = context.previous?.find((one) => one.type === type);
    // Of `Ready` it is told why it is not; the others say nothing while they are false.
    const says = status === "True" || type === "Ready";
    return {
      type,
      status,
      ...(context.generation !== undefined && { observedGeneration: context.generation }),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(context.now),
      reason: says ? state.reason : "AsExpected",
      message: says ? state.message.slice(0, MAX_MESSAGE) : "",
    };
  });
}

/** RFC 3339 with seconds, as the API server writes times. */
const timestamp = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
