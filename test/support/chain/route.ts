import { destinationEntry, ringKey, routeEntry } from "../../../src/gateway/testing.ts";
import type { DestinationEntry, RouteEntry } from "../../../src/routes/entry.ts";

export const CHAIN_SECRET = "chain-secret-chain-secret";
export const CHAIN_NAMESPACE = "shop";
const ROUTE = "00000000000c4a17";

const HOUR_MS = 3_600_000;

/** A queue-push route with one HTTP destination, as `compile` would make it; what a test does not name is generous. */
export function chainRoute(
  url: string,
  change: { readonly destination?: Partial<DestinationEntry>; readonly route?: Partial<RouteEntry> } = {},
): RouteEntry {
  const destination = destinationEntry("orders", {
    id: `${ROUTE}/orders`,
    target: { type: "http", url },
    timeoutMs: 2_000,
    concurrency: 32,
    retry: {
      type: "schedule",
      delaysMs: [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000],
      jitter: 0,
      giveUpAfterMs: HOUR_MS,
      maxRetryAfterMs: HOUR_MS,
      maxAgeMs: HOUR_MS,
    },
    ...change.destination,
  });
  return routeEntry({
    namespace: CHAIN_NAMESPACE,
    name: "orders",
    route: ROUTE,
    path: "/in",
    keys: [ringKey(CHAIN_SECRET)],
    response: { status: 202 },
    retention: { deliveredMs: 72 * HOUR_MS, deadLettersMs: 720 * HOUR_MS, maxEvents: 1_000_000, keepBodies: false },
    destinations: [destination],
    ...change.route,
  });
}
