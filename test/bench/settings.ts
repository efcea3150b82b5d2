import { destinationEntry, ringKey, routeEntry } from "../../src/gateway/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";

/** Same for every side of a comparison. */
export const CONNECTIONS = 64;
export const BODY_BYTES = 1_024;
export const PATH = "/in";
export const SECRET = "bench-secret-bench-secret-bench";
export const NAMESPACE = "bench";
/** Room for the largest run: shedding at 85 % of maxmemory must not decide a speed. */
export const MAXMEMORY = "4gb";

const ROUTE_KEY = "00000000000be9c4";
const DAY_MS = 86_400_000;

/** What a server or worker process of the bench is told at its start, as JSON in its first argument. */
export interface ChildSettings {
  readonly redisUrl: string;
  /** Where deliveries go. */
  readonly sinkUrl?: string;
}

export const childSettings = (): ChildSettings => JSON.parse(process.argv[2] ?? "{}") as ChildSettings;

/** A queue-push route with one signed HTTP destination; limits and retention are the API's defaults. */
export function benchRoute(sinkUrl: string): RouteEntry {
  const key = ringKey(SECRET);
  const destination = destinationEntry("sink", {
    id: `${ROUTE_KEY}/sink`,
    target: { type: "http", url: sinkUrl },
    concurrency: CONNECTIONS,
    signing: { scheme: "StandardWebhooks", header: "webhook-signature", keys: [key] },
  });
  return routeEntry({
    namespace: NAMESPACE,
    name: "bench",
    route: ROUTE_KEY,
    host: "127.0.0.1",
    path: PATH,
    keys: [key],
    retention: { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 10_000, keepBodies: false },
    destinations: [destination],
  });
}
