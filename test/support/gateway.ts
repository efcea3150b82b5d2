import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import type { CustodyHealth } from "../../src/custody/port.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import type { DestinationEntry, RouteEntry } from "../../src/routes/entry.ts";
import { FaultInbox } from "./fault-inbox.ts";

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

/** A gateway that listens on a port of the system's choice. */
export interface Running {
  readonly gateway: Gateway;
  readonly inbox: FaultInbox;
  readonly metrics: Metrics;
  readonly url: string;
  /** Writes bytes on a new connection and returns all that came back until its end (or `quietMs` of silence). */
  raw(bytes: string | Buffer, options?: { halfClose?: boolean; quietMs?: number }): Promise<string>;
}

/** Starts a gateway over these routes and an inbox without faults. */
export async function startGateway(
  routes: readonly RouteEntry[],
  options: Partial<GatewayOptions> = {},
): Promise<Running> {
  const inbox = new FaultInbox();
  const metrics = createMetrics();
  const table = new Map(routes.map((route) => [`${route.host}${route.path}`, route]));
  const gateway = createGateway({
    table: { lookup: (host, path) => table.get(host + path) },
    inboxFor: () => inbox,
    health: () => HEALTHY,
    clock: systemClock,
    metrics,
    logger: silentLogger,
    ...options,
  });
  gateway.server.listen(0, "127.0.0.1");
  await once(gateway.server, "listening");
  const { port } = gateway.server.address() as AddressInfo;
  return { gateway, inbox, metrics, url: `http://127.0.0.1:${port}`, raw: (bytes, how) => exchange(port, bytes, how) };
}

async function exchange(
  port: number,
  bytes: string | Buffer,
  { halfClose = false, quietMs = 300 }: { halfClose?: boolean; quietMs?: number } = {},
): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.setTimeout(quietMs, () => socket.destroy());
  socket.on("data", (data) => {
    received += data.toString("latin1");
    socket.setTimeout(40);
  });
  socket.on("error", () => undefined);
  const closed = once(socket, "close");
  socket.write(bytes);
  if (halfClose) socket.end();
  await closed;
  return received;
}
