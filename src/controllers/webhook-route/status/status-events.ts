import type { WebhookRouteCondition } from "../../../api/generated/webhook-route.ts";
import { conditionOf } from "./conditions.ts";

/** A Kubernetes Event to emit on the route. */
export interface StatusEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

type Status = WebhookRouteCondition["status"];

/** A status with conditions: of a WebhookRoute or a WebhookDestination. */
interface Conditions {
  readonly conditions?: readonly WebhookRouteCondition[];
}

/** An edge of a condition that is worth an Event. */
export interface Edge {
  readonly condition: string;
  readonly to: Status;
  /** Absent: from anything else, and from the same status for another reason. */
  readonly from?: Status;
  readonly type: StatusEvent["type"];
  /** Default: the condition's. */
  readonly reason?: string;
  /** Default: the condition's. */
  readonly message?: string;
}

/**
 * Edges with an Event. What is wrong with the manifests is told at once; what takes its time after every change (gateways, ingress, workers) only
 * once it had been right.
 */
const EDGES: readonly Edge[] = [
  { condition: "Accepted", to: "False", type: "Warning" },
  { condition: "SecretsResolved", to: "False", type: "Warning" },
  { condition: "DestinationsResolved", to: "False", type: "Warning" },
  { condition: "IngressReady", from: "True", to: "False", type: "Warning" },
  { condition: "Programmed", from: "True", to: "False", type: "Warning" },
  { condition: "WorkersAvailable", from: "True", to: "False", type: "Warning" },
  { condition: "QueueReachable", to: "False", type: "Warning" },
  { condition: "Ready", to: "True", type: "Normal", reason: "Ready" },
  { condition: "RotationInProgress", to: "True", type: "Normal" },
  {
    condition: "RotationInProgress",
    from: "True",
    to: "False",
    type: "Normal",
    reason: "OverlapEnded",
    message: "previous keys are no longer accepted",
  },
  { condition: "VerificationFailing", to: "True", type: "Warning" },
  {
    condition: "VerificationFailing",
    from: "True",
    to: "False",
    type: "Normal",
    reason: "VerificationRecovered",
    message: "most requests are verified again, or none comes in",
  },
  { condition: "AckBudgetAtRisk", to: "True", type: "Warning" },
  {
    condition: "AckBudgetAtRisk",
    from: "True",
    to: "False",
    type: "Normal",
    reason: "AnswersRecovered",
    message: "answers are in time again, or none is asked for",
  },
  { condition: "DedupeKeyWeak", to: "True", type: "Warning" },
  { condition: "Suspended", to: "True", type: "Normal" },
  {
    condition: "Suspended",
    from: "True",
    to: "False",
    type: "Normal",
    reason: "Resumed",
    message: "the route is no longer suspended",
  },
];

/** Reasons that make an Event a warning which is none otherwise. */
const WARNING_REASONS = ["TooManyChanges"];

/** Events for what changed between two statuses: on edges of conditions only, so that none repeats what the last one said. */
export function edges(
  before: Conditions | undefined,
  after: Conditions,
  worth: readonly Edge[] = EDGES,
): readonly StatusEvent[] {
  return worth.flatMap((edge): StatusEvent[] => {
    const now = conditionOf(after.conditions, edge.condition);
    if (now === undefined || !isEdge(edge, conditionOf(before?.conditions, edge.condition), now)) return [];
    const { reason = now.reason, message = now.message } = edge;
    return [{ type: WARNING_REASONS.includes(reason) ? "Warning" : edge.type, reason, message }];
  });
}

function isEdge(
  { from, to, reason }: Edge,
  before: WebhookRouteCondition | undefined,
  now: WebhookRouteCondition,
): boolean {
  if (now.status !== to) return false;
  if (from !== undefined) return before?.status === from;
  return before?.status !== to || (reason === undefined && before.reason !== now.reason);
}
