import { isReady } from "../../controllers/webhook-route/status/status-writer.ts";
import type { Operator } from "../../controllers/webhook-route/operator.ts";
import { entryIn } from "../../controllers/webhook-route/publishing/publications.ts";
import { refOf } from "../../kube/objects.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { RouteEntry } from "../../routes/entry.ts";

/** Sets the gauges of all routes from the caches, for one scrape. Only the leader shows them: two replicas would count each route twice. */
export function showRoutes(operator: Operator, metrics: Metrics, isLeader: boolean): void {
  const { routeReady, routeInfo, secretOverlapRemaining } = metrics;
  for (const gauge of [routeReady, routeInfo, secretOverlapRemaining]) gauge.reset();
  if (!isLeader) return;
  const now = operator.clock.now();
  for (const key of operator.routes.keys()) {
    const { namespace = "", name: route } = refOf(key);
    routeReady.set({ namespace, route }, isReady(operator.routes.get(key)?.status) ? 1 : 0);
  }
  for (const secret of operator.publications.all()) {
    const entry = entryIn(secret);
    if (entry === undefined) continue;
    const { namespace, name: route, verification, dedupe } = entry;
    const scheme = verification.type === "provider" ? verification.provider : verification.type;
    routeInfo.set({ namespace, route, verification: scheme, dedupe: dedupeName(dedupe) }, 1);
    secretOverlapRemaining.set({ namespace, route }, overlapSeconds(entry, now));
  }
}

function overlapSeconds({ keys }: RouteEntry, now: number): number {
  const ends = keys.filter(({ state }) => state === "previous").map(({ notAfter = 0 }) => notAfter);
  return Math.max(0, ...ends.map((end) => (end - now) / 1_000));
}

function dedupeName({ disabled, sources }: RouteEntry["dedupe"]): string {
  if (disabled) return "none";
  return sources.length > 0 ? "id" : "weak";
}
