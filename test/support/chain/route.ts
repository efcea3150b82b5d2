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
  const destination: DestinationEntry = {
    id: `${ROUTE}/orders`,
    name: "orders",
    target: { type: "http", url },
    eventTypes: [],
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
    headers: {},
    forwardHeaders: [],
    ...change.destination,
  };
  return {
    schema: 1,
    minReader: 1,
    seq: 1,
    instance: "default",
    namespace: CHAIN_NAMESPACE,
    name: "orders",
    route: ROUTE,
    host: "hooks.example.com",
    path: "/in",
    methods: ["POST"],
    suspend: "None",
    verification: { type: "provider", provider: "queue-push" },
    publicUrl: "https://hooks.example.com/in",
    toleranceMs: 300_000,
    allowedSourceRanges: [],
    parameters: {},
    keys: [
      {
        id: "00000001",
        use: "Signing",
        state: "current",
        since: 0,
        value: Buffer.from(CHAIN_SECRET).toString("base64"),
      },
    ],
    dedupe: {
      windowMs: 168 * HOUR_MS,
      earlierWindows: [],
      sources: [{ from: "header", name: "x-delivery-id", signed: false }],
      weakWindowMs: 600_000,
      disabled: false,
    },
    limits: { maxBodyBytes: 262_144, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 },
    payload: { format: "JSON", requiredFields: [] },
    response: { status: 202 },
    retention: { deliveredMs: 72 * HOUR_MS, deadLettersMs: 720 * HOUR_MS, maxEvents: 1_000_000, keepBodies: false },
    worker: { dedicated: false, concurrency: 500 },
    destinations: [destination],
    ...change.route,
  };
}
