import type { Reason } from "../../../api/conditions.ts";
import type { CleanupPolicyCondition } from "../../../api/generated/cleanup-policy.ts";
import { condition, type ConditionContext, conditionOf } from "../../webhook-route/status/conditions.ts";
import { edges } from "../../webhook-route/status/status-events.ts";
import { progress } from "../../webhook-route/status/status-findings.ts";
import type { Finding } from "../../webhook-route/status/status-input.ts";
import type { PolicyStatusInput } from "./status.ts";
import { storeReport } from "./store-reports.ts";
import { finishedAt, type PlannedEvent, type RunView } from "./views.ts";
import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";

const OWN = [
  "Ready",
  "Reconciling",
  "Stalled",
  "Accepted",
  "SecretsResolved",
  "StoreReachable",
  "CleanerAvailable",
  "Scheduled",
  "LastRunSucceeded",
  "MultipleProducers",
];

const NOT_ACCEPTED: Finding = { status: "Unknown", reason: "NotAccepted", message: "not looked at: see Accepted" };
const NO_RUN: Finding = { status: "Unknown", reason: "NoRunYet", message: "no run has said so yet" };

/** The conditions of a CleanupPolicy. A run that failed does not make its policy unready; a store that does not answer does. */
export function policyConditions(input: PolicyStatusInput): CleanupPolicyCondition[] {
  const { policy, now } = input;
  const context: ConditionContext = { generation: policy.generation, now, previous: policy.status?.conditions };
  const parts = {
    Accepted: accepted(input),
    SecretsResolved: secretsResolved(input),
    StoreReachable: storeReachable(input, context),
    CleanerAvailable: cleanerAvailable(input),
  };
  const summary = ready(input, parts);
  const { reconciling, stalled } = progress(summary);
  return [
    condition("Ready", summary, context),
    condition("Reconciling", reconciling, context),
    condition("Stalled", stalled, context),
    ...Object.entries(parts).map(([type, finding]) => condition(type, finding, context)),
    condition("Scheduled", scheduled(input), context),
    condition("LastRunSucceeded", lastRunSucceeded(input, context), context),
    condition("MultipleProducers", multipleProducers(input), context),
    // Those that others write stay as they are.
    ...(context.previous ?? []).filter(({ type }) => !OWN.includes(type)),
  ];
}

function accepted({ refusal, accepted: spec }: PolicyStatusInput): Finding {
  if (refusal !== undefined) return { status: "False", ...refusal };
  return fine(["the policy is valid", ...(spec?.warnings ?? [])].join("; "));
}

function secretsResolved({ refusal, unresolved }: PolicyStatusInput): Finding {
  if (refusal !== undefined) return NOT_ACCEPTED;
  const [first] = unresolved;
  if (first === undefined) return fine("every reference to a Secret has a value");
  const message = `${unresolved.map((one) => one.message).join("; ")}. No cleaner is started until then`;
  return { status: "False", reason: first.reason, message };
}

function storeReachable({ accepted: spec, runs, policy }: PolicyStatusInput, { previous }: ConditionContext): Finding {
  if (spec === undefined) return NOT_ACCEPTED;
  const report = storeReport(runs, spec.s3);
  if (report?.isReachable === true) return fine("the last run that asked it was answered");
  if (report !== undefined) return { status: "False", reason: report.reason, message: report.message };
  // Its runs may be gone; what they said holds for the policy as it was.
  const before = conditionOf(previous, "StoreReachable");
  const isSame = policy.status?.digest === spec.digest && before !== undefined && before.reason !== "NotAccepted";
  return isSame ? asBefore(before) : NO_RUN;
}

/** One that is away because there is nothing to do is no problem, and one that just starts is none yet. */
function cleanerAvailable({ refusal, cleanerProblem }: PolicyStatusInput): Finding {
  if (refusal !== undefined) return NOT_ACCEPTED;
  if (cleanerProblem !== undefined) return { status: "False", ...cleanerProblem };
  return fine("a cleaner is there whenever there is something to do");
}

function scheduled({ refusal, policy, schedule }: PolicyStatusInput): Finding {
  if (refusal !== undefined) return NOT_ACCEPTED;
  if (policy.spec.schedule === undefined) {
    return { status: "False", reason: "NoSchedule", message: "runs start by pushes, or by hand" };
  }
  if (policy.spec.suspend === true) return { status: "False", reason: "Suspended", message: "no run is started" };
  if (schedule?.nextAt === undefined) {
    return { status: "False", reason: "NoSchedule", message: "the schedule has no time in sight" };
  }
  return fine("a run of each scope is made at every time of the schedule");
}

const CARRIED_OUT: ReadonlySet<string> = new Set(["Succeeded", "CompletedWithSkips", "Failed"]);

/** Of the runs that were carried out: one that was refused or cancelled says nothing of the next. */
function lastRunSucceeded({ runs }: PolicyStatusInput, { previous }: ConditionContext): Finding {
  const last = runs
    .filter(({ status }) => CARRIED_OUT.has(status?.phase ?? ""))
    .toSorted((a, b) => finishedAt(a) - finishedAt(b) || a.name.localeCompare(b.name))
    .at(-1);
  if (last !== undefined) return outcome(last);
  const before = conditionOf(previous, "LastRunSucceeded");
  return before === undefined ? NO_RUN : asBefore(before);
}

function outcome({ name, status }: RunView): Finding {
  const { phase, reason = "", message = "" } = status ?? {};
  if (phase === "Failed") {
    return { status: "False", reason: "RunFailed", message: `run ${name} failed (${reason}): ${message}` };
  }
  if (phase === "CompletedWithSkips") {
    return { status: "True", reason: "CompletedWithSkips", message: `run ${name} left some versions: see its status` };
  }
  return fine("the last run did all that it was asked");
}

function multipleProducers({ producers }: PolicyStatusInput): Finding {
  if (producers === undefined) return { status: "False", reason: "AsExpected", message: "" };
  return { status: "True", ...producers };
}

function ready({ policy }: PolicyStatusInput, parts: Readonly<Record<string, Finding>>): Finding {
  const wrong = Object.entries(parts).find(([, { status }]) => status === "False");
  if (wrong !== undefined) {
    const [part, { status, reason, message }] = wrong;
    return { status, reason, message: `${part}: ${message}` };
  }
  if (policy.spec.suspend === true) {
    return { status: "True", reason: "Suspended", message: "nothing is started, and nothing goes on" };
  }
  return fine("runs are carried out");
}

function asBefore({ status, reason, message }: CleanupPolicyCondition): Finding {
  return { status, reason: reason as Reason, message };
}

function fine(message: string): Finding {
  return { status: "True", reason: "Reconciled", message };
}

const EVENTS = [
  { condition: "Accepted", to: "False", type: "Warning" },
  { condition: "SecretsResolved", to: "False", type: "Warning" },
  { condition: "StoreReachable", to: "False", type: "Warning" },
  { condition: "MultipleProducers", to: "True", type: "Warning" },
  { condition: "LastRunSucceeded", to: "False", type: "Warning" },
  { condition: "Ready", to: "True", type: "Normal", reason: "Ready" },
] as const;

/** Events for what changed between two statuses. */
export function conditionEvents(
  before: CleanupPolicyStatus | undefined,
  after: CleanupPolicyStatus,
): readonly PlannedEvent[] {
  return edges(before, after, EVENTS).map(({ type, reason, message }) => ({ type, reason, note: message }));
}
