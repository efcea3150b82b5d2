import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { Fetch } from "../../src/egress/guarded-fetch.ts";
import type { MaterialSource } from "../../src/gateway/material/material-source.ts";
import { createGateway, type Gateway } from "../../src/gateway/server.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { startRedis, type TestRedis } from "./redis.ts";

/** A request as bytes of it go over the wire: header values are UTF-8 text, a list is a header that is sent several times. */
export interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
  /** Unix ms: the gateway's clock while it judges. Requests with the same one may be sent at the same time. */
  readonly now: number;
}

export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A real gateway over a real Redis, whose routes, clock and network a test sets. */
export interface VectorGateway {
  /** Sends a request to a route. */
  send(entry: RouteEntry, request: WireRequest): Promise<WireAnswer>;
  readonly store: RedisStore;
  stop(): Promise<void>;
}

/** Starts both. `material` and `fetch` stand in for the providers' servers. */
export async function startVectorGateway(options: {
  readonly material?: MaterialSource;
  readonly fetch: Fetch;
}): Promise<VectorGateway> {
  const redis = await startRedis();
  const store = new RedisStore({ url: redis.url });
  await store.start();
  const inbox = store.inbox({ instance: "default", namespace: "cases" });
  const entries = new Map<string, RouteEntry>();
  let now = Date.now();
  let monotonic = 0;
  const gateway = createGateway({
    table: { lookup: (host) => entries.get(host) },
    inboxFor: () => inbox,
    health: () => store.health(),
    // A second goes by at each look, so that no limit of a rate comes between.
    clock: { now: () => now, monotonic: () => (monotonic += 1_000) },
    metrics: createMetrics(),
    logger: silentLogger,
    ...options,
  });
  gateway.server.listen(0, "127.0.0.1");
  await once(gateway.server, "listening");
  const { port } = gateway.server.address() as AddressInfo;
  return {
    store,
    send: (entry, request) => {
      entries.set(entry.host, entry);
      now = request.now;
      return exchange(port, entry.host, request);
    },
    stop: () => stop(gateway, store, redis),
  };
}

async function stop(gateway: Gateway, store: RedisStore, redis: TestRedis): Promise<void> {
  await gateway.close(0);
  store.close();
  await redis.stop();
}

async function exchange(port: number, host: string, { method, target, headers, body }: WireRequest) {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}\r\n`),
  );
  const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n`;
  const socket = connect(port, "127.0.0.1");
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  // The gateway may close before it has read all of what it refuses.
  socket.on("error", () => undefined);
  socket.write(Buffer.concat([Buffer.from(`${head}${lines.join("")}\r\n`, "utf8"), body]));
  await once(socket, "close");
  return parse(Buffer.concat(pieces).toString("utf8"));
}

function parse(text: string): WireAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body: text.slice(end + 4) };
}
