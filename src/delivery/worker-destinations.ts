import type { RoutePolicy } from "../custody/port.ts";
import type { DestinationEntry, RouteEntry } from "../routes/entry.ts";
import type { WorkerDestination, WorkerRoute } from "./destinations.ts";
import { sharedDestination, usersOf } from "./shared-destinations.ts";
import { signableUntil } from "./signing.ts";

/** Destinations by id with their routes, see `WorkerConfiguration`. */
export class WorkerDestinations extends Map<string, WorkerDestination> {
  readonly routes = new Map<string, WorkerRoute>();
  isLive: () => boolean = () => false;
}

/** What a worker is to deliver besides the inline destinations of its routes. */
export interface SharedConfig {
  /** WebhookDestinations of the namespace. */
  readonly destinations: readonly DestinationEntry[];
  /** See `WorkerConfiguration.isLive`. */
  readonly isLive: () => boolean;
}

/** All destinations of the given routes by id, for `Worker.update`. */
export function workerDestinations(routes: Iterable<RouteEntry>, shared?: SharedConfig): WorkerDestinations {
  const byId = new WorkerDestinations();
  const all: { readonly route: RouteEntry; readonly known: WorkerRoute }[] = [];
  for (const route of routes) {
    const suspended = route.suspend === "Delivery" || route.suspend === "All";
    const policy = { ...routePolicy(route), ...(suspended && { suspended }) };
    const { namespace, name, seq } = route;
    const isChosenByEvents = route.destinationIdFrom !== undefined;
    const known = { namespace, name, seq, suspended, policy, ...(isChosenByEvents && { isChosenByEvents }) };
    byId.routes.set(route.route, known);
    all.push({ route, known });
    for (const entry of route.destinations) {
      byId.set(entry.id, {
        entry,
        namespace,
        routeName: name,
        seq,
        suspended,
        signableUntil: signableUntil(entry.signing),
        policy: {
          destination: entry.id,
          policy,
          limit: entry.concurrency,
          timeoutMs: entry.timeoutMs,
          maxAgeMs: entry.retry.maxAgeMs,
        },
      });
    }
  }
  if (shared === undefined) return byId;
  byId.isLive = shared.isLive;
  const users = usersOf(all);
  for (const entry of shared.destinations) {
    const own = users(entry.id);
    byId.set(entry.id, sharedDestination(entry, all[0]?.known.namespace ?? "", own));
  }
  return byId;
}

function routePolicy(route: RouteEntry): RoutePolicy {
  const { windowMs, earlierWindows } = route.dedupe;
  return { route: route.route, windowMs, earlierWindows, retention: route.retention };
}
