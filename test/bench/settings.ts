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
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** What a server or worker process of the bench is told at its start, as JSON in its first argument. */
export interface ChildSettings {
  readonly redisUrl: string;
  /** Where deliveries go. */
  readonly sinkUrl?: string;
}

export const childSettings = (): ChildSettings => JSON.parse(process.argv[2] ?? "{}") as ChildSettings;

/** A queue-push route with one signed HTTP destination and the API's defaults for everything else. */
export function benchRoute(sinkUrl: string): RouteEntry {
  const secret = { use: "Signing", state: "current", since: 0 } as const;
  return {
    schema: 1,
    minReader: 1,
    seq: 1,
    instance: "default",
    namespace: NAMESPACE,
    name: "bench",
    route: ROUTE_KEY,
    host: "127.0.0.1",
    path: PATH,
    methods: ["POST"],
    suspend: "None",
    verification: { type: "provider", provider: "queue-push" },
    publicUrl: "",
    toleranceMs: 300_000,
    allowedSourceRanges: [],
    parameters: {},
    keys: [{ ...secret, id: "00000001", value: base64(SECRET) }],
    dedupe: {
      windowMs: 7 * DAY_MS,
      earlierWindows: [],
      sources: [{ from: "header", name: "x-delivery-id", signed: false }],
      weakWindowMs: 600_000,
      disabled: false,
    },
    limits: { maxBodyBytes: 262_144, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 },
    payload: { format: "JSON", requiredFields: [] },
    response: { status: 204 },
    retention: { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 10_000, keepBodies: false },
    worker: { dedicated: false, concurrency: 500 },
    destinations: [
      {
        id: `${ROUTE_KEY}/sink`,
        name: "sink",
        target: { type: "http", url: sinkUrl },
        eventTypes: [],
        timeoutMs: 15_000,
        concurrency: CONNECTIONS,
        retry: {
          type: "schedule",
          delaysMs: [1_000, 5_000, 30_000],
          jitter: 0,
          giveUpAfterMs: 3 * DAY_MS,
          maxRetryAfterMs: 7 * DAY_MS,
          maxAgeMs: 30 * DAY_MS,
        },
        headers: {},
        forwardHeaders: [],
        signing: {
          scheme: "StandardWebhooks",
          header: "webhook-signature",
          keys: [{ ...secret, id: "00000002", value: base64(SECRET) }],
        },
      },
    ],
  };
}
