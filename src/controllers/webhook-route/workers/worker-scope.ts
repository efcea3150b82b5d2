import type { WorkerScope } from "../../../api/names.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { usesDestinations } from "../../../routes/shared-copies.ts";

/** Workers and the routes they deliver. */
export interface ScopedRoutes {
  readonly scope: WorkerScope;
  readonly routes: readonly RouteEntry[];
}

/** Key of workers in the queue of the `workers` controller: `namespace` (shared) or `namespace/route`. */
export function scopeKey(scope: WorkerScope): string {
  return "route" in scope ? `${scope.namespace}/${scope.route}` : scope.namespace;
}

/** The scope of a {@link scopeKey}. */
export function scopeOf(key: string): WorkerScope {
  const slash = key.indexOf("/");
  return slash < 0 ? { namespace: key } : { namespace: key.slice(0, slash), route: key.slice(slash + 1) };
}

/** Which workers deliver a route. */
export function scopeOfRoute({
  namespace,
  name,
  worker,
}: Pick<RouteEntry, "namespace" | "name" | "worker">): WorkerScope {
  return worker.dedicated ? { namespace, route: name } : { namespace };
}

/**
 * All workers that deliver some of a route's events: those that it belongs to, and for copies to WebhookDestinations always the namespace's shared ones, as a
 * destination is drained by one Deployment whoever its copies come from.
 */
export function scopesOfRoute(entry: RouteEntry): readonly WorkerScope[] {
  const scope = scopeOfRoute(entry);
  return "route" in scope && usesDestinations(entry) ? [scope, { namespace: entry.namespace }] : [scope];
}

/** What the workers of a scope are told of a route; `undefined`: nothing. Its inline destinations are drained by the workers it belongs to alone. */
export function entryFor(scope: WorkerScope, entry: RouteEntry): RouteEntry | undefined {
  if (scopeKey(scopeOfRoute(entry)) === scopeKey(scope)) return entry;
  const isShared = !("route" in scope) && scope.namespace === entry.namespace;
  return isShared && usesDestinations(entry) ? { ...entry, destinations: [] } : undefined;
}

/** Path at which the controller tells the backlog of these workers to an autoscaler: `/v1/scale/<namespace>/<shared|route>`. */
export function scalePath(scope: WorkerScope): string {
  return `/v1/scale/${scope.namespace}/${"route" in scope ? scope.route : "shared"}`;
}
