import { runConditions } from "../../../api/cleanup-run-conditions.ts";
import type { CleanupPhase } from "../../../api/cleanup-run.ts";
import type { CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";
import { rfc3339, type RunView } from "./views.ts";

/** Longest message of a run, as in the CRD. */
const MAX_MESSAGE = 512;

/** Where a run is to be, and why. */
export interface RunStep {
  readonly phase: CleanupPhase;
  readonly reason: string;
  readonly message: string;
}

/** The status of a run after a step, with everything that it had; what is in `more` comes on top. @param now Unix ms */
export function statusAfter(run: RunView, step: RunStep, now: number, more: CleanupRunStatus = {}): CleanupRunStatus {
  const { generation, status = {} } = run;
  const message = step.message.slice(0, MAX_MESSAGE);
  return {
    ...status,
    ...more,
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: step.phase,
    reason: step.reason,
    message,
    conditions: runConditions({ ...step, message }, { now, previous: status.conditions, generation }),
  };
}

/** The status of a run that ends here. */
export function endedStatus(run: RunView, step: RunStep, now: number, more: CleanupRunStatus = {}): CleanupRunStatus {
  const { lease: _lease, nextAttemptAt: _next, ...ended } = statusAfter(run, step, now, more);
  return { ...ended, finishedAt: rfc3339(now) };
}
