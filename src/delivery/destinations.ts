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

/** Why the copies of a destination are left where they are: nothing may be sent to it now. */
export type Obstacle = "unknown" | "suspended" | "unsigned";

/** What stands in the way of sending to a destination, if anything. A message that must be signed is never sent without. */
export function obstacleOf(destination: WorkerDestination | undefined, clock: Clock): Obstacle | undefined {
  if (destination === undefined) return "unknown";
  if (destination.suspended) return "suspended";
  if (destination.signableUntil === Infinity || clock.now() <= destination.signableUntil) return undefined;
  return "unsigned";
}

/** All destinations of the given routes by id, for `Worker.update`. */
export function workerDestinations(routes: Iterable<RouteEntry>): Map<string, WorkerDestination> {
  const byId = new Map<string, WorkerDestination>();
  for (const route of routes) {
    const policy = routePolicy(route);
    for (const entry of route.destinations) {
      byId.set(entry.id, {
        entry,
        namespace: route.namespace,
        routeName: route.name,
        seq: route.seq,
        suspended: route.suspend === "Delivery" || route.suspend === "All",
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

function routePolicy(route: RouteEntry): RoutePolicy {
  const { windowMs, earlierWindows } = route.dedupe;
  return { route: route.route, windowMs, earlierWindows, retention: route.retention };
}

const FOR_EVER = 10 * 365 * 86_400_000;

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
