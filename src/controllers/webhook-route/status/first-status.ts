import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import { conditionOf } from "./conditions.ts";
import { PARTS } from "./status-findings.ts";

/** What a new route has to wait for in any case is given this long to come, ms: then it takes one write of its status, and not one for each part. */
const PATIENCE_MS = 1_500;

/** Parts that become true by themselves, a while after the route was published. */
const COMING: readonly string[] = ["IngressReady", "Programmed", "WorkersAvailable", "QueueReachable"];

/**
 * For how long the first status of a route is held back, ms. Only a status that says nothing but "not yet" is: what is wrong with a route is
 * told at once, and so is that it is ready. `undefined`: write it now.
 *
 * @param publishedAt Unix ms, from the stamp of what is published; `undefined`: nothing is
 */
export function heldBackFor(
  previous: WebhookRouteStatus | undefined,
  next: WebhookRouteStatus,
  { publishedAt, now }: { readonly publishedAt: number | undefined; readonly now: number },
): number | undefined {
  if (previous?.conditions !== undefined || publishedAt === undefined || !isOnlyComing(next)) return undefined;
  const age = now - publishedAt;
  // A stamp of the future is that of another clock.
  return age >= 0 && age < PATIENCE_MS ? PATIENCE_MS - age : undefined;
}

function isOnlyComing({ conditions }: WebhookRouteStatus): boolean {
  const isTrue = (type: string) => conditionOf(conditions, type)?.status === "True";
  return !isTrue("Ready") && !isTrue("Stalled") && PARTS.every((part) => isTrue(part) || COMING.includes(part));
}
