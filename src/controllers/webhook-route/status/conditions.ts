import type { WebhookRouteCondition } from "../../../api/generated/webhook-route.ts";
import type { Finding } from "./status-input.ts";

/** Longest message of a condition that is written: it is shown on terminals, and every route has a dozen. */
const MAX_MESSAGE = 2_000;

/** RFC 3339 with seconds, as the API server writes times. @param ms Unix ms */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The condition of a type. */
export function conditionOf(
  conditions: readonly WebhookRouteCondition[] | undefined,
  type: string,
): WebhookRouteCondition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** What differs from status to status, and what the conditions were before. */
export interface ConditionContext {
  readonly generation: number;
  /** Unix ms. */
  readonly now: number;
  readonly previous: readonly WebhookRouteCondition[] | undefined;
}

/**
 * A condition as metav1 has it: `lastTransitionTime` moves only when `status` flips
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 */
export function condition(type: string, finding: Finding, context: ConditionContext): WebhookRouteCondition {
  const before = conditionOf(context.previous, type);
  const { status, reason, message } = finding;
  return {
    type,
    status,
    observedGeneration: context.generation,
    lastTransitionTime: before?.status === status ? before.lastTransitionTime : timestamp(context.now),
    reason,
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message,
  };
}
