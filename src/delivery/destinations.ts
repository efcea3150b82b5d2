import type { DestinationPolicy, RoutePolicy } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { DestinationEntry } from "../routes/entry.ts";

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
  /** Of a WebhookDestination: what it is to the copies of one route, by its key; `undefined` for a route that is not in the config. */
  readonly forRoute?: (route: string | undefined) => WorkerDestination | undefined;
}

/** A route in a worker's config, for copies whose destination it has no more. */
export interface WorkerRoute {
  readonly namespace: string;
  readonly name: string;
  /** The published entry's `seq`. */
  readonly seq: number;
  readonly suspended: boolean;
  readonly policy: RoutePolicy;
  /** Each of its events names the WebhookDestination it is for. */
  readonly isChosenByEvents?: boolean;
  /** Ids of the WebhookDestinations that it sends its events to. Absent: none. */
  readonly sharedIds?: ReadonlySet<string>;
  /** See `DestinationPolicy.shelving`, of the stand-in for the routes of a WebhookDestination that is not in the config. */
  readonly shelving?: readonly string[];
}

/** What a worker goes by: destinations by id, and the routes they are of by route key. Without `routes` an unknown destination is always left alone. */
export type WorkerConfiguration = ReadonlyMap<string, WorkerDestination> & {
  readonly routes?: ReadonlyMap<string, WorkerRoute>;
  /** Whether it is known to be what holds now, and not merely remembered. Absent: it never is. */
  readonly isLive?: () => boolean;
};

/** ms. */
const FOR_EVER = 10 * 365 * 86_400_000;

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

/** Stands for the routes of a WebhookDestination that is not in the config: each copy has its own. */
const ANY_ROUTE: WorkerRoute = {
  namespace: "",
  name: "",
  seq: -1,
  suspended: false,
  policy: unknownPolicy("~").policy,
};

/**
 * The route of a destination that is not in the config, as far as it is known: of an inline one, `<route key>/<name>`, the one that had it; of a
 * WebhookDestination a stand-in, once the config is live.
 */
export function routeOf(configuration: WorkerConfiguration, destination: string): WorkerRoute | undefined {
  if (destination.startsWith("~"))
    return configuration.isLive?.() === true ? standIn(configuration, destination) : undefined;
  const slash = destination.indexOf("/");
  return slash < 0 ? undefined : configuration.routes?.get(destination.slice(0, slash));
}

/** `undefined`: its copies wait for it, as a route names it and none leaves it to its events. */
function standIn({ routes = new Map() }: WorkerConfiguration, id: string): WorkerRoute | undefined {
  const naming = [...routes.values()].filter(({ sharedIds }) => sharedIds?.has(id) === true);
  const choosing = [...routes.values()].filter(({ isChosenByEvents }) => isChosenByEvents === true);
  if (choosing.every(isSuspended) && !naming.every(isSuspended)) return undefined;
  const shelving = [...naming, ...choosing].filter(isSuspended).map(({ policy }) => policy.route);
  return shelving.length === 0 ? ANY_ROUTE : { ...ANY_ROUTE, shelving };
}

function isSuspended({ suspended }: WorkerRoute): boolean {
  return suspended;
}

/** Copies of a removed destination are made dead letters so many at a time. */
const REMOVED_LIMIT = 16;

/** For a destination that its route has no more: its route's retention holds for the dead letters. */
export function removedPolicy(destination: string, { policy, shelving }: WorkerRoute): DestinationPolicy {
  return { ...unknownPolicy(destination), policy, limit: REMOVED_LIMIT, ...(shelving && { shelving }) };
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
