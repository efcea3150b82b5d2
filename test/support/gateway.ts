import { request as httpRequest } from "node:http";
import { once } from "node:events";
import { connect, type AddressInfo } from "node:net";
import { createGateway, type Gateway, type GatewayOptions } from "../../src/gateway/server.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import { HEALTHY, HOST } from "../../src/gateway/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { FaultInbox } from "./fault-inbox.ts";

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
  const closed = new Promise((resolve) => {
    socket.on("close", resolve);
  });
  socket.write(bytes);
  if (halfClose) socket.end();
  await closed;
  return received;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends one request to `/push` and what stands behind it. */
export function sendTo(
  { url }: Pick<Running, "url">,
  {
    method = "POST",
    path = "/push",
    body = "",
    headers = {},
  }: { method?: string; path?: string; body?: string | Buffer; headers?: Record<string, string> },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method, headers: { host: HOST, ...headers }, agent: false });
    request.on("error", reject);
    request.on("response", (response) => {
      let text = "";
      response.on("data", (data: Buffer) => {
        text += data.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.end(body);
  });
}
