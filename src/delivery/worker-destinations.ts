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
  const all = [...routes].map((route) => ({ route, known: knownRoute(route) }));
  for (const { route, known } of all) {
    byId.routes.set(route.route, known);
    for (const entry of route.destinations) byId.set(entry.id, inlineDestination(entry, known));
  }
  if (shared === undefined) return byId;
  byId.isLive = shared.isLive;
  const users = usersOf(all);
  // Copies for a destination that their route may not choose are there too.
  const resting = all.filter(({ known }) => known.suspended && known.isChosenByEvents).map(({ route }) => route.route);
  for (const entry of shared.destinations) {
    const namespace = all[0]?.known.namespace ?? "";
    byId.set(entry.id, sharedDestination(entry, namespace, users(entry), resting));
  }
  return byId;
}

function knownRoute(route: RouteEntry): WorkerRoute {
  const { namespace, name, seq, suspend, sharedCopies } = route;
  const suspended = suspend === "Delivery" || suspend === "All";
  return {
    namespace,
    name,
    seq,
    suspended,
    policy: { ...routePolicy(route), ...(suspended && { suspended }) },
    ...(route.destinationIdFrom !== undefined && { isChosenByEvents: true }),
    ...(sharedCopies && { sharedIds: new Set(sharedCopies.map(({ id }) => id)) }),
  };
}

function inlineDestination(entry: DestinationEntry, { namespace, name, seq, suspended, policy }: WorkerRoute) {
  const { id: destination, concurrency: limit, timeoutMs, retry } = entry;
  return {
    entry,
    namespace,
    routeName: name,
    seq,
    suspended,
    signableUntil: signableUntil(entry.signing),
    policy: { destination, policy, limit, timeoutMs, maxAgeMs: retry.maxAgeMs },
  };
}

function routePolicy(route: RouteEntry): RoutePolicy {
  const { windowMs, earlierWindows } = route.dedupe;
  return { route: route.route, windowMs, earlierWindows, retention: route.retention };
}
