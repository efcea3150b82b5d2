import type { CleanupMode } from "../../../api/cleanup-run.ts";
import type { CleanupPolicyScopeStatus } from "../../../api/generated/cleanup-policy.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import { endedStatus, type RunStep, statusAfter } from "./run-status.ts";
import { MAX_SCOPES, type Scopes } from "./scopes.ts";
import { byReceipt, instant, isOpen, receivedAt, rfc3339, type RunView, type StatusWrite } from "./views.ts";

/** A dry run counts as proof for so long, ms. */
export const PROOF_MS = 30 * 86_400_000;
/** Runs that one look admits: the API server has others to serve. */
export const MOST_ADMITTED = 200;

export interface AdmissionInput {
  /** Every run of the policy, as they are. */
  readonly runs: readonly RunView[];
  /** Absent: it is not accepted, and runs wait until it is. */
  readonly accepted: AcceptedPolicy | undefined;
  /** Why it is not. */
  readonly refusal: string;
  readonly suspended: boolean;
  /** What is known of the scopes, of runs that ended just now as well. */
  readonly scopes: Scopes;
  /** Unix ms. */
  readonly now: number;
}

export interface Admissions {
  readonly writes: readonly StatusWrite[];
  /** There are more to look at than one look does. */
  readonly isMore: boolean;
}

/** What is decided of one run. */
type Verdict = RunStep | { readonly mode: CleanupMode };

/**
 * Decides of each run that was not admitted yet, the oldest first: it is rejected for good, waits, or is admitted with what the policy says now. A run that only
 * keeps a record ends by that.
 */
export function admissions(input: AdmissionInput): Admissions {
  const room = new Room(input);
  const waiting = input.runs.filter((run) => isOpen(run) && run.status?.snapshot === undefined).toSorted(byReceipt);
  const writes: StatusWrite[] = [];
  for (const run of waiting) {
    if (writes.length >= MOST_ADMITTED) return { writes, isMore: true };
    const write = writeOf(run, verdictOf(run, input, room), input);
    if (write !== undefined) writes.push(write);
  }
  return { writes, isMore: false };
}

function writeOf(run: RunView, verdict: Verdict, { accepted, now }: AdmissionInput): StatusWrite | undefined {
  if ("mode" in verdict && accepted !== undefined)
    return { run, status: admittedStatus(run, verdict.mode, accepted, now) };
  const step = verdict as RunStep;
  if (step.phase === "Pending") return isSaid(run, step) ? undefined : { run, status: statusAfter(run, step, now) };
  const event = { type: "Warning", reason: step.reason, note: step.message } as const;
  return { run, status: endedStatus(run, step, now), event };
}

/** What a run waits for is told once. */
function isSaid({ status }: RunView, { phase, reason, message }: RunStep): boolean {
  return status?.phase === phase && status.reason === reason && status.message === message.slice(0, 512);
}

function admittedStatus(run: RunView, mode: CleanupMode, accepted: AcceptedPolicy, now: number) {
  const more = { snapshot: accepted.snapshot(run.spec.scope, mode), admittedAt: rfc3339(now), attempts: 0 };
  if (mode !== "RecordOnly") return statusAfter(run, { phase: "Pending", reason: "Admitted", message: "" }, now, more);
  const message = "the mode of the scope is RecordOnly: the store was not asked";
  return endedStatus(run, { phase: "Succeeded", reason: "RecordOnly", message }, now, more);
}

interface Question {
  readonly run: RunView;
  /** Unix ms. */
  readonly cutoff: number;
  readonly known: CleanupPolicyScopeStatus | undefined;
  readonly input: AdmissionInput;
}

function verdictOf(run: RunView, input: AdmissionInput, room: Room): Verdict {
  const { accepted, scopes } = input;
  const cutoff = instant(run.spec.cutoff);
  if (cutoff === undefined) return rejected("InvalidCutoff", "spec.cutoff is no RFC 3339 time with an offset");
  const question = { run, cutoff, known: scopes.get(run.spec.scope), input };
  const early = inFuture(question);
  if (early !== undefined) return early;
  if (accepted === undefined) return pending("PolicyNotAccepted", input.refusal);
  const mode = accepted.modeOf(run.spec.scope, run.spec.requestedMode);
  const late = CHECKS.map((check) => check(question, mode, accepted)).find((step) => step !== undefined);
  if (late !== undefined) return late;
  if (mode === "RecordOnly" || room.take(run.spec.scope)) return { mode };
  return rejected(
    "TooManyScopes",
    `the policy knows ${MAX_SCOPES} scopes already, and what it knows of each keeps a run from deleting twice: use another policy`,
  );
}

function inFuture({ run, cutoff }: Question): RunStep | undefined {
  const received = receivedAt(run);
  if (cutoff <= received) return undefined;
  return rejected(
    "CutoffInFuture",
    `the cutoff is later than the time it was received, ${rfc3339(received)}: it must be in the past`,
  );
}

type Check = (question: Question, mode: CleanupMode, accepted: AcceptedPolicy) => RunStep | undefined;

/** In this order: what holds for ever, before what waits, before what may be otherwise later. */
const CHECKS: readonly Check[] = [
  ({ run, cutoff }, _mode, { minAgeMs }) => {
    const youngest = receivedAt(run) - minAgeMs;
    if (cutoff <= youngest) return undefined;
    return rejected(
      "CutoffTooYoung",
      `the cutoff is later than ${rfc3339(youngest)}, safety.minAge before it was received: send an older one`,
    );
  },
  ({ cutoff, known }, mode) => {
    const done = instant(known?.lastCutoff);
    if (mode !== "Enforce" || done === undefined || cutoff > done) return undefined;
    return rejected(
      "Superseded",
      `run ${known?.lastRunId ?? ""} completed the cutoff ${known?.lastCutoff ?? ""} of this scope, and this one is not newer`,
    );
  },
  ({ input }) => (input.suspended ? pending("Suspended", "the policy is suspended: spec.suspend") : undefined),
  ({ known, input }, mode, { requireDryRun, digest }) => {
    if (mode !== "Enforce" || !requireDryRun || isProven(known, digest, input.now)) return undefined;
    return rejected(
      "DryRunRequired",
      "no dry run of this scope has completed with the policy as it is within 30 days: run one first (mode DryRun), or set safety.requireDryRun: false",
    );
  },
];

function isProven(known: CleanupPolicyScopeStatus | undefined, digest: string, now: number): boolean {
  const at = instant(known?.verifiedAt);
  return known?.verifiedDigest === digest && at !== undefined && now - at <= PROOF_MS;
}

function rejected(reason: string, message: string): RunStep {
  return { phase: "Rejected", reason, message };
}

function pending(reason: string, message: string): RunStep {
  return { phase: "Pending", reason, message };
}

/** Places for scopes in the policy's status: also those that admitted runs are going to need. */
class Room {
  readonly #taken: Set<string>;

  constructor({ scopes, runs }: AdmissionInput) {
    const admitted = runs.filter(
      ({ status }) => status?.snapshot !== undefined && status.snapshot.mode !== "RecordOnly",
    );
    this.#taken = new Set([...scopes.keys(), ...admitted.filter(isOpen).map(({ spec }) => spec.scope)]);
  }

  /** @returns whether there is one */
  take(scope: string): boolean {
    if (!this.#taken.has(scope) && this.#taken.size >= MAX_SCOPES) return false;
    this.#taken.add(scope);
    return true;
  }
}
