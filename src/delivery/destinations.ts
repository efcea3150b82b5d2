import type { DestinationPolicy, RoutePolicy } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { DestinationEntry, RouteEntry } from "../routes/entry.ts";
import { signableUntil } from "./signing.ts";

/** A destination with what a worker needs of its route. Replaced, never changed: caches hang on its identity. */
export interface WorkerDestination {
  readonly entry: DestinationEntry;
  readonly namespace: string;
  /** The route's name. */
  readonly routeName: string;
  /** The published entry's `seq`. */
  readonly seq: number;
  /** Copies are left where they are. */
  readonly suspended: boolean;
  /** Unix ms after which its messages cannot be signed as its config demands; see `signableUntil`. */
  readonly signableUntil: number;
  readonly policy: DestinationPolicy;
}

/** A route in a worker's config, for copies whose destination it has no more. */
export interface WorkerRoute {
  readonly namespace: string;
  readonly name: string;
  /** The published entry's `seq`. */
  readonly seq: number;
  readonly suspended: boolean;
  readonly policy: RoutePolicy;
}

/** What a worker goes by: destinations by id, and the routes they are of by route key. Without `routes` an unknown destination is always left alone. */
export type WorkerConfiguration = ReadonlyMap<string, WorkerDestination> & {
  readonly routes?: ReadonlyMap<string, WorkerRoute>;
};

/** Why the copies of a destination are left where they are: nothing may be sent to it now. */
export type Obstacle = "unknown" | "suspended" | "unsigned";

/**
 * What stands in the way of taking copies of a destination, if anything. A message that must be signed is never sent without.
 * @param route of a destination that is not in the config: its copies are taken, to be made dead letters
 */
export function obstacleOf(
  destination: WorkerDestination | undefined,
  route: WorkerRoute | undefined,
  clock: Clock,
): Obstacle | undefined {
  if (destination === undefined) {
    if (route === undefined) return "unknown";
    return route.suspended ? "suspended" : undefined;
  }
  if (destination.suspended) return "suspended";
  if (destination.signableUntil === Infinity || clock.now() <= destination.signableUntil) return undefined;
  return "unsigned";
}

/** Destinations by id with their routes, see {@link WorkerConfiguration}. */
export class WorkerDestinations extends Map<string, WorkerDestination> {
  readonly routes = new Map<string, WorkerRoute>();
}

/** All destinations of the given routes by id, for `Worker.update`. */
export function workerDestinations(routes: Iterable<RouteEntry>): WorkerDestinations {
  const byId = new WorkerDestinations();
  for (const route of routes) {
    const policy = routePolicy(route);
    const suspended = route.suspend === "Delivery" || route.suspend === "All";
    const { namespace, name, seq } = route;
    byId.routes.set(route.route, { namespace, name, seq, suspended, policy });
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
  return byId;
}

/** The route of an inline destination, `<route key>/<name>`, as far as it is known. */
export function routeOf(configuration: WorkerConfiguration, destination: string): WorkerRoute | undefined {
  const slash = destination.indexOf("/");
  return destination.startsWith("~") || slash < 0 ? undefined : configuration.routes?.get(destination.slice(0, slash));
}

function routePolicy(route: RouteEntry): RoutePolicy {
  const { windowMs, earlierWindows } = route.dedupe;
  return { route: route.route, windowMs, earlierWindows, retention: route.retention };
}

const FOR_EVER = 10 * 365 * 86_400_000;

/** Copies of a removed destination are made dead letters so many at a time. */
const REMOVED_LIMIT = 16;

/** For a destination that its route has no more: its route's retention holds for the dead letters. */
export function removedPolicy(destination: string, { policy }: WorkerRoute): DestinationPolicy {
  return { ...unknownPolicy(destination), policy, limit: REMOVED_LIMIT };
}

/** For a destination this worker has no config of: under it nothing expires and nothing is removed. */
export function unknownPolicy(destination: string): DestinationPolicy {
  return {
    destination,
    policy: {
      route: destination.split("/", 1)[0] ?? destination,
      windowMs: FOR_EVER,
      earlierWindows: [],
      retention: { deliveredMs: FOR_EVER, deadLettersMs: FOR_EVER, maxEvents: 1e9, keepBodies: true },
    },
    limit: 1,
    timeoutMs: 15_000,
    maxAgeMs: FOR_EVER,
  };
}

/** Whether a destination wants events of a type. No patterns: every event. A pattern is exact, or a prefix that ends in `*`. */
export function wantsEventType(patterns: readonly string[], eventType: string | undefined): boolean {
  if (patterns.length === 0) return true;
  if (eventType === undefined) return false;
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? eventType.startsWith(pattern.slice(0, -1)) : pattern === eventType,
  );
}
