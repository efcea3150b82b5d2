import type { WebhookRouteStatus } from "../../api/generated/webhook-route.ts";

/** A Kubernetes Event to emit on the route. */
export interface StatusEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Events for what changed between two statuses: on edges of conditions only. */
export function edges(_before: WebhookRouteStatus | undefined, _after: WebhookRouteStatus): readonly StatusEvent[] {
  return [];
}
