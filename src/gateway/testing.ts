import type { CustodyHealth } from "../custody/port.ts";
import type { DestinationEntry, RouteEntry } from "../routes/entry.ts";

// Fixtures of the gateway's tests; not part of the build.

export const HOST = "hooks.example.com";
export const SECRET = "a-secret-of-some-length";

/** A store in good health. */
export const HEALTHY: CustodyHealth = {
  up: true,
  durable: { ok: true, source: "verified", problems: [] },
  memoryRatio: 0,
  clockOffsetMs: 0,
};

/** A destination entry with defaults. */
export function destinationEntry(name: string, changes: Partial<DestinationEntry> = {}): DestinationEntry {
  return {
    id: `0123456789abcdef/${name}`,
    name,
    target: { type: "http", url: "http://127.0.0.1:9/" },
    eventTypes: [],
    timeoutMs: 15_000,
    concurrency: 16,
    retry: {
      type: "schedule",
      delaysMs: [1_000],
      jitter: 0,
      giveUpAfterMs: 259_200_000,
      maxRetryAfterMs: 604_800_000,
      maxAgeMs: 2_592_000_000,
    },
    headers: {},
    forwardHeaders: [],
    ...changes,
  };
}

/** A compiled route with defaults: queue-push at `/push`. */
export function routeEntry(changes: Partial<RouteEntry> = {}): RouteEntry {
  return {
    schema: 1,
    minReader: 1,
    seq: 7,
    instance: "default",
    namespace: "shop",
    name: "push",
    route: "0123456789abcdef",
    host: HOST,
    path: "/push",
    methods: ["POST"],
    suspend: "None",
    verification: { type: "provider", provider: "queue-push" },
    publicUrl: `https://${HOST}/push`,
    toleranceMs: 300_000,
    allowedSourceRanges: [],
    parameters: {},
    keys: [ringKey(SECRET)],
    dedupe: {
      windowMs: 604_800_000,
      earlierWindows: [],
      sources: [{ from: "header", name: "x-delivery-id", signed: false }],
      weakWindowMs: 600_000,
      disabled: false,
    },
    limits: { maxBodyBytes: 262_144, maxInFlightPerPod: 1_000, maxBacklog: 1_000_000 },
    payload: { format: "JSON", requiredFields: [] },
    response: { status: 204 },
    retention: { deliveredMs: 1, deadLettersMs: 1, maxEvents: 1, keepBodies: false },
    worker: { dedicated: false, concurrency: 500 },
    destinations: [destinationEntry("orders")],
    ...changes,
  };
}

/** A current signing key made of text. */
export function ringKey(secret: string): RouteEntry["keys"][number] {
  return { id: "0a0b0c0d", use: "Signing", state: "current", since: 0, value: Buffer.from(secret).toString("base64") };
}
