import type { WorkerScope } from "../../../api/names.ts";
import type { RouteEntry } from "../../../routes/entry.ts";

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

/** Path at which the controller tells the backlog of these workers to an autoscaler: `/v1/scale/<namespace>/<shared|route>`. */
export function scalePath(scope: WorkerScope): string {
  return `/v1/scale/${scope.namespace}/${"route" in scope ? scope.route : "shared"}`;
}
