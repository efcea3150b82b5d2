import type { IncomingMessage, Server } from "node:http";
import express, { type Express, type Request, type Response } from "express";
import type { CustodyHealth } from "../custody/port.ts";
import { ROLLBACK_LINE } from "../custody/redis/incarnation.ts";
import { RedisStore } from "../custody/redis/store.ts";
import { createGateway, type Gateway } from "../gateway/server.ts";
import { systemClock } from "../lib/clock.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import { createMetrics, type Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { type IngestSettings, serverRoute } from "./options.ts";
import { type QueueOptions, resolveQueue } from "./queue.ts";

export type { RateLimit } from "./options.ts";

export interface ServerOptions extends IngestSettings, QueueOptions {
  /** The one path that takes webhooks. Default: POST on any path does. */
  readonly path?: string;
  /** What to do when Redis may lose what it acknowledged: `warn` logs it (default), `require` answers 503 until it is set right. */
  readonly durability?: "require" | "warn";
  readonly logger?: Logger;
  /** To serve the chain's metrics with one's own; default: a set nobody sees. */
  readonly metrics?: Metrics;
}

/** An Express app that takes webhooks. `close` ends its connections to Redis; a server made by `listen` does so when it closes. */
export type WebhookApp = Express & { close(): void };

/**
 * An Express app in which POST takes webhooks: verified over the raw bytes, deduplicated, stored durably, then answered
 * 202 `{jobId, replayed}`, or as the provider demands. 401 for a missing, malformed or wrong signature, 413, 429 and 503 with `Retry-After` otherwise.
 *
 * It can be mounted in another app, before anything that reads bodies; `app.listen()` puts the fast path in front of Express. The client address for
 * `rateLimit` goes by the app's `trust proxy` setting. `GET /healthz` says the process runs, `GET /readyz` that Redis answers.
 *
 * @throws TypeError when an option is missing or out of range; the message names it
 */
export function createServer(options: ServerOptions): WebhookApp {
  const queue = resolveQueue(options);
  const entry = serverRoute(queue, options);
  const logger = options.logger ?? createLogger("server");
  const store = new RedisStore({
    url: queue.url,
    onHealth: (health) => reportHealth(logger, health),
    onRollback: (namespace, rollback) => logger.error({ namespace, rollback }, ROLLBACK_LINE),
  });
  // Redis may come up later: until then requests are answered 503.
  void store.start();

  const app = express();
  app.disable("x-powered-by");
  const gateway = gatewayOf({ app, entry, store, options, logger });
  addRoutes(app, { gateway, entry, path: options.path, ready: () => gateway.readiness().ok });
  return Object.assign(app, {
    listen: listenWith(gateway.server, () => store.close()),
    close: () => store.close(),
  });
}

interface Parts {
  readonly app: Express;
  readonly entry: RouteEntry;
  readonly store: RedisStore;
  readonly options: ServerOptions;
  readonly logger: Logger;
}

function gatewayOf({ app, entry, store, options, logger }: Parts): Gateway {
  const inbox = store.inbox({ instance: entry.instance, namespace: entry.namespace });
  const takes = (path: string, method: string) =>
    options.path === undefined ? method === "POST" : path === options.path;
  return createGateway({
    table: { lookup: (_host, path, method) => (takes(path, method) ? entry : undefined) },
    inboxFor: () => inbox,
    health: () =>
      options.durability === "require" ? store.health() : { ...store.health(), durable: VOLATILE_IS_FINE },
    clock: systemClock,
    metrics: options.metrics ?? createMetrics(),
    logger,
    clientAddress: (request) => clientAddress(app, request),
    app,
    idField: "jobId",
    statuses: { HeaderMissing: 401, TimestampMalformed: 401 },
  });
}

const VOLATILE_IS_FINE: CustodyHealth["durable"] = { ok: true, source: "volatile", problems: [] };

function reportHealth(logger: Logger, { up, durable }: CustodyHealth): void {
  if (!up) logger.warn("Redis does not answer; requests get 503 until it does");
  else if (durable.ok) logger.info("Redis answers");
  else logger.warn({ problems: durable.problems }, "Redis may lose what it acknowledged");
}

interface Routes {
  readonly gateway: Gateway;
  readonly entry: RouteEntry;
  readonly path: string | undefined;
  readonly ready: () => boolean;
}

function addRoutes(app: Express, { gateway, entry, path, ready }: Routes): void {
  app.get("/healthz", (_request: Request, response: Response) => void response.type("text").send("ok\n"));
  app.get("/readyz", (_request: Request, response: Response) => {
    const ok = ready();
    response
      .status(ok ? 200 : 503)
      .type("text")
      .send(ok ? "ok\n" : "Redis does not answer\n");
  });
  // Reached when the app is mounted: the fast path of `listen` stands in front of it.
  app.post(path ?? "/*path", (request: Request, response: Response) => gateway.ingest(request, response, entry));
  if (path === undefined)
    app.post("/", (request: Request, response: Response) => gateway.ingest(request, response, entry));
}

/** Express's own reading of `trust proxy`, for a request that has not gone through the app. */
function clientAddress(app: Express, request: IncomingMessage): string {
  const seen = Object.create(app.request, {
    headers: { value: request.headers },
    socket: { value: request.socket },
    connection: { value: request.socket },
  }) as Request;
  return seen.ip ?? request.socket.remoteAddress ?? "";
}

/** `app.listen` as Express has it, over the server whose fast path stands in front of the app. */
function listenWith(server: Server, onClose: () => void): Express["listen"] {
  server.once("close", onClose);
  const listen = (...args: unknown[]): Server => {
    const callback = args.at(-1);
    // As in Express 5: an error of listening is handed to the callback.
    if (typeof callback === "function") server.once("error", (error) => void callback(error));
    return server.listen(...(args as [port: number]));
  };
  return listen as Express["listen"];
}
