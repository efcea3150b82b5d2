import type { RunState } from "../../api/cleanup-run-conditions.ts";
import { isFinished } from "../../api/cleanup-run.ts";
import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import { parseDuration } from "../../lib/duration.ts";
import type { PolicyRecord, RunRecord } from "../records/port.ts";

/** What is to be done about a run now. */
export type Step =
  | { readonly type: "attempt"; readonly snapshot: CleanupSnapshot }
  | { readonly type: "end"; readonly state: RunState }
  /** It is Running, but nobody may work on it. */
  | { readonly type: "pend" }
  /** Nothing, for so many ms at least; without: until something changes. */
  | { readonly type: "wait"; readonly ms?: number };

export interface StepContext {
  readonly policy: PolicyRecord | undefined;
  /** Unix ms. */
  readonly now: number;
  /** Ms until nobody else holds it. */
  readonly freeIn: number;
}

const UNTIL_CHANGE: Step = { type: "wait" };

/** What is to be done about a run. Pure. */
export function nextStep(run: RunRecord, context: StepContext): Step {
  const { status, spec } = run;
  const { policy } = context;
  const { snapshot } = status;
  if (isFinished(status) || snapshot === undefined || snapshot.mode === "RecordOnly") return UNTIL_CHANGE;
  // Whoever owns the policy's runs ends those of one that is gone.
  if (policy === undefined || policy.uid !== spec.policyRef.uid) return UNTIL_CHANGE;
  if (context.freeIn > 0) return { type: "wait", ms: context.freeIn };
  if (spec.cancel === true) return end("Cancelled", "Cancelled", "spec.cancel is set");
  return admittedStep(run, snapshot, { ...context, policy });
}

function admittedStep(
  run: RunRecord,
  snapshot: CleanupSnapshot,
  context: StepContext & { readonly policy: PolicyRecord },
): Step {
  const { policy, now } = context;
  const invalid = invalidity(run, snapshot);
  if (invalid !== undefined) return end("Failed", "SnapshotInvalid", invalid);
  const deadline = deadlineOf(run, snapshot);
  const early = Date.parse(run.spec.cutoff) - now;
  if (now >= deadline) return end("Failed", "DeadlineExceeded", DEADLINE_MESSAGE);
  if (snapshot.mode === "Enforce" && isSuperseded(run, policy)) return superseded(run);
  // Whoever admitted it has another clock: by this one, what is written now would have expired.
  if (early > 0) return { type: "wait", ms: Math.min(early, deadline - now) };
  if (!policy.suspended) return attemptStep(run, snapshot, now);
  return run.status.phase === "Running" ? { type: "pend" } : { type: "wait", ms: deadline - now };
}

function attemptStep(run: RunRecord, snapshot: CleanupSnapshot, now: number): Step {
  const { nextAttemptAt, attemptsWithoutProgress = 0 } = run.status;
  // Of attempts that ended with their process nobody said so.
  if (attemptsWithoutProgress >= snapshot.maxAttempts)
    return end("Failed", "AttemptsExhausted", exhausted(attemptsWithoutProgress));
  const due = nextAttemptAt === undefined ? now : Date.parse(nextAttemptAt);
  if (due <= now) return { type: "attempt", snapshot };
  return { type: "wait", ms: Math.min(due, deadlineOf(run, snapshot)) - now };
}

export const DEADLINE_MESSAGE = "the run took longer than runDeadline, from its admission";

export const exhausted = (attempts: number): string => `${attempts} attempts one after the other made no progress`;

/** Unix ms at which a run has taken too long. A run that was never admitted has no deadline, and no snapshot either. */
export function deadlineOf({ status: { admittedAt } }: RunRecord, { runDeadline }: CleanupSnapshot): number {
  return Date.parse(admittedAt ?? "") + parseDuration(runDeadline);
}

/** Whether an Enforce run of its scope completed with a cutoff that is not older: it may not touch the store again. */
function isSuperseded({ spec: { scope, cutoff } }: RunRecord, policy: PolicyRecord): boolean {
  const completed = policy.completedCutoff(scope);
  return completed !== undefined && Date.parse(cutoff) <= completed;
}

function superseded({ status: { counters } }: RunRecord): Step {
  const message = "a run of the scope with the same cutoff or a newer one is completed";
  return end((counters?.deleted ?? 0) > 0 ? "Cancelled" : "Rejected", "Superseded", message);
}

/** What of a run can only be a mistake: nothing is done by it. */
function invalidity({ spec, status: { admittedAt } }: RunRecord, snapshot: CleanupSnapshot): string | undefined {
  if (Number.isNaN(Date.parse(spec.cutoff))) return "spec.cutoff is no time";
  if (Number.isNaN(Date.parse(admittedAt ?? ""))) return "status.admittedAt is no time";
  if (!/[^/]\/$/.test(snapshot.prefix)) return "status.snapshot.prefix does not end in a slash";
  if (!isDuration(snapshot.runDeadline)) return "status.snapshot.runDeadline is no duration";
  if (!isDuration(snapshot.exclusions.maxAge)) return "status.snapshot.exclusions.maxAge is no duration";
  return undefined;
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text);
    return true;
  } catch {
    return false;
  }
}

function end(phase: RunState["phase"], reason: string, message: string): Step {
  return { type: "end", state: { phase, reason, message } };
}
