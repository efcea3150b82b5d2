import type { RoutePolicy } from "../../../src/custody/port.ts";
import { workerDestinations, type WorkerDestinations } from "../../../src/delivery/worker-destinations.ts";
import { destinationEntry, ringKey, routeEntry } from "../../../src/gateway/testing.ts";
import type { DestinationEntry } from "../../../src/routes/entry.ts";
import { type ChildSettings, NAMESPACE, SECRET } from "../settings.ts";

const ROUTE_KEY = "00000000000fa12e";
const DAY_MS = 86_400_000;
/** More than any run delivers, so that only the reckoning is measured and never the limit. */
const HIGH_RATE = { requests: 1_000_000, perMs: 1_000, burst: 1_000_000 };
const DISABLE_AFTER = { consecutiveFailures: 1_000, failingForMs: DAY_MS };

/** Destinations that differ in their number only. */
export interface Group {
  /** Beginning of each one's name, and path at the receiver. */
  readonly name: string;
  readonly count: number;
  /** Requests at a time, of each. */
  readonly concurrency: number;
  /** WebhookDestinations with rate, circuit and `disableAfter`, as they come from the controller; else inline destinations, which have no gate. */
  readonly gated: boolean;
}

/** What a worker of this part is told. A group stands for its destinations: 10,000 of them would not fit into an argument. */
export interface FairnessSettings extends ChildSettings {
  readonly namespace: string;
  readonly groups: readonly Group[];
}

export const scopeOf = (namespace: string) => ({ instance: "default", namespace: `${NAMESPACE}-${namespace}` });

/** Ids of a group's destinations, as they stand in the store. */
export function idsOf({ name, count, gated }: Group): string[] {
  const prefix = gated ? "~" : `${ROUTE_KEY}/`;
  return Array.from({ length: count }, (_, at) => `${prefix}${name}-${String(at).padStart(5, "0")}`);
}

/** Retention is the API's default but for the number of events, which a run must not reach. */
const RETENTION = { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 1_000_000, keepBodies: false };

/** The route all events come by. */
export function planRoute(groups: readonly Group[], sinkUrl: string) {
  return routeEntry({
    namespace: NAMESPACE,
    name: "bench",
    route: ROUTE_KEY,
    retention: RETENTION,
    destinations: groups.filter(({ gated }) => !gated).flatMap((group) => entriesOf(group, sinkUrl)),
    // Any of the WebhookDestinations may get any event.
    destinationIdFrom: "json:/destination",
  });
}

/** The route's policy, for claims. */
export function planPolicy(): RoutePolicy {
  const { dedupe, retention, route } = planRoute([], "");
  return { route, windowMs: dedupe.windowMs, earlierWindows: dedupe.earlierWindows, retention };
}

/** What a worker goes by. */
export function planDestinations(groups: readonly Group[], sinkUrl: string): WorkerDestinations {
  return workerDestinations([planRoute(groups, sinkUrl)], {
    destinations: groups.filter(({ gated }) => gated).flatMap((group) => entriesOf(group, sinkUrl)),
    isLive: () => true,
  });
}

function entriesOf(group: Group, sinkUrl: string): DestinationEntry[] {
  const key = ringKey(SECRET);
  return idsOf(group).map((id) =>
    destinationEntry(id, {
      id,
      kind: group.gated ? "shared" : "inline",
      target: { type: "http", url: `${sinkUrl}${group.name}` },
      concurrency: group.concurrency,
      signing: { scheme: "StandardWebhooks", header: "webhook-signature", keys: [key] },
      ...(group.gated && { seq: 1, rateLimit: HIGH_RATE, disableAfter: DISABLE_AFTER }),
    }),
  );
}
