import type { ConditionContext } from "./conditions.ts";
import { conditionOf } from "./conditions.ts";
import { programmed } from "./programmed.ts";
import type { Finding, RouteStatusInput } from "./status-input.ts";
import { workersAvailable } from "./workers-available.ts";

/** Redis must have been away this long, ms, before a route says so: shorter gaps are a failover's. */
export const QUEUE_GRACE_MS = 60_000;

/** The conditions that `Ready` is made of, in the order in which the first false one gives the reason. */
export const PARTS = [
  "Accepted",
  "SecretsResolved",
  "DestinationsResolved",
  "IngressReady",
  "Programmed",
  "WorkersAvailable",
  "QueueReachable",
] as const;

type Part = (typeof PARTS)[number];
type Look = (input: RouteStatusInput, context: ConditionContext) => Finding;

const PROGRESSING: Finding = { status: "Unknown", reason: "Progressing", message: "not looked at yet" };
const NOT_ACCEPTED: Finding = { status: "Unknown", reason: "NotAccepted", message: "not looked at: see Accepted" };

const LOOKS: Readonly<Record<Part, Look>> = {
  Accepted: ({ refusal, isAccepted = false }) => {
    if (refusal !== undefined) return { status: "False", ...refusal };
    return isAccepted ? fine("the route is valid, and its place is its own") : PROGRESSING;
  },
  SecretsResolved: ({ unresolved }) => {
    const [first] = unresolved ?? [];
    if (first === undefined)
      return unresolved === undefined ? PROGRESSING : fine("every reference to a Secret has a value");
    const message = (unresolved ?? []).map((one) => `${one.path}: ${one.message}`).join("; ");
    return { status: "False", reason: first.reason, message };
  },
  DestinationsResolved: ({ destinations, entry }) =>
    destinations ?? (entry === undefined ? PROGRESSING : fine("all are inline")),
  IngressReady: ({ ingress }) => ingress ?? PROGRESSING,
  Programmed: ({ entry, gateways }, context) => programmed(entry?.seq, gateways, context),
  WorkersAvailable: ({ workers }) => workersAvailable(workers),
  QueueReachable: queueReachable,
};

/** What is found of each part. A refused route is looked at no further: an older version of it may be served, which says nothing about this one. */
export function partFindings(input: RouteStatusInput, context: ConditionContext): ReadonlyMap<Part, Finding> {
  const isRefused = input.refusal !== undefined;
  return new Map(
    PARTS.map((part) => [
      part,
      isRefused && part !== "Accepted" && part !== "QueueReachable" ? NOT_ACCEPTED : LOOKS[part](input, context),
    ]),
  );
}

function queueReachable({ queue, now }: RouteStatusInput, { previous }: ConditionContext): Finding {
  const before = conditionOf(previous, "QueueReachable");
  if (queue?.isReachable === true) return fine("Redis answers");
  if (queue !== undefined && now - queue.since >= QUEUE_GRACE_MS) {
    const message =
      "Redis has not answered for a minute: events are refused with 503 until it does; look at its Pods and at redis.urlFile";
    return { status: "False", reason: "QueueUnreachable", message };
  }
  return before === undefined
    ? PROGRESSING
    : { status: before.status, reason: before.reason as Finding["reason"], message: before.message };
}

/**
 * `Ready`: the first part that is false, else the first that is not known. `QueueReachable` counts only once it is false.
 */
export function ready(parts: ReadonlyMap<Part, Finding>): Finding {
  const found = PARTS.map((part) => ({ part, finding: parts.get(part) ?? PROGRESSING }));
  const first =
    found.find(({ finding }) => finding.status === "False") ??
    found.find(({ part, finding }) => finding.status === "Unknown" && part !== "QueueReachable");
  if (first === undefined) return fine("events are received and delivered");
  const { status, reason, message } = first.finding;
  return { status, reason, message: `${first.part}: ${message}` };
}

/** Reasons that nothing but a person can end. kstatus calls an object with `Stalled` failed, so what may end by itself is not among them. */
const STALLING: readonly Finding["reason"][] = [
  "InvalidSpec",
  "HostNotAllowed",
  "HostPathConflict",
  "NamespaceNotEnabled",
  "HandlerNotAllowed",
  "TLSMissing",
  "TooManyDestinations",
  "IdConflict",
  "AutoscalingUnavailable",
  "RolloutStalled",
];

/** `Reconciling` and `Stalled` (https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md): true is abnormal, and never both are. */
export function progress(summary: Finding): { readonly reconciling: Finding; readonly stalled: Finding } {
  const none: Finding = { status: "False", reason: "AsExpected", message: "" };
  if (summary.status === "True") return { reconciling: none, stalled: none };
  const abnormal: Finding = { ...summary, status: "True" };
  return STALLING.includes(summary.reason) && summary.status === "False"
    ? { reconciling: none, stalled: abnormal }
    : { reconciling: abnormal, stalled: none };
}

function fine(message: string): Finding {
  return { status: "True", reason: "Reconciled", message };
}
