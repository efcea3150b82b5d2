import { workerDestinations } from "../delivery/worker-destinations.ts";
import { NamespaceWorker } from "../delivery/namespace-worker.ts";
import { RedisStore } from "../custody/redis/store.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import { type Handler, handlerAttempt } from "./handler.ts";
import { type Queue, type QueueOptions, resolveQueue } from "./queue.ts";
import { handlerDestination, type HandlerSettings, queueRoute } from "./route.ts";

export interface WorkerOptions extends QueueOptions, HandlerSettings {
  /** Handlers at a time, over all processes of the queue. Default 16, at most 500. */
  readonly concurrency?: number;
  /** Time a handler has, at most `60s`, the default. One that is still busy then counts as failed and is tried again. */
  readonly timeout?: string;
  /** Delays before the 2nd, 3rd, … attempt. Default `["1s", "5s", "30s"]`: dead on the 4th failure. */
  readonly retrySchedule?: readonly string[];
  readonly logger?: Logger;
  /** To serve the worker's metrics with one's own; in a cluster they are served on `:9090/metrics` in any case. */
  readonly metrics?: Metrics;
}

/** A worker that is not running yet. */
export interface WebhookWorker {
  /** Begins to take events. May be called before Redis is up. */
  start(): Promise<void>;
  /** Takes nothing more, waits for the handlers that run, and closes. */
  close(): Promise<void>;
}

/**
 * Runs a handler for each event of a queue. After the last failed attempt an event goes to the list named `<queueName>.dead`, with
 * `failureContext {attempts, lastError}`; credentials in URLs are redacted.
 *
 * In a Pod that Davit made for a route with `worker.dedicated.image` (`DAVIT_CONFIG` is set) a call without `queueName` attaches to that route: the
 * handler gets its events, the route's spec decides about time, concurrency and retries, and `start` serves `/livez`, `/readyz` and `/metrics` on the
 * port of the config (9090). SIGTERM then ends the process in order: handlers that run are awaited, and what they returned is settled.
 *
 * @throws TypeError when an option is out of range; the message names it
 */
export function createWorker(handler: Handler, options: WorkerOptions = {}): WebhookWorker {
  if (typeof handler !== "function") throw new TypeError("handler must be a function");
  const config = process.env["DAVIT_CONFIG"];
  if (config && options.queueName === undefined) return routeWorker(config, handler, options);
  return queueWorker(handler, options);
}

function queueWorker(handler: Handler, options: WorkerOptions): WebhookWorker {
  const queue = resolveQueue(options);
  const destination = handlerDestination(queue, options);
  const logger = (options.logger ?? createLogger("worker")).child({ queue: queue.name, deadLetters: queue.deadName });
  let running: { readonly store: RedisStore; readonly worker: NamespaceWorker } | undefined;
  return {
    async start() {
      if (running !== undefined) return;
      const store = new RedisStore({ url: queue.url });
      const worker = new NamespaceWorker({
        store,
        scope: queue.scope,
        attempt: handlerAttempt(handler, queue.name),
        destinations: workerDestinations([workerRoute(queue, destination)]),
        logger,
        metrics: options.metrics,
      });
      running = { store, worker };
      await worker.start();
    },
    async close() {
      const closing = running;
      running = undefined;
      await closing?.worker.stop();
      closing?.store.close();
    },
  };
}

/** What a Pod needs beyond that is loaded only there. */
function routeWorker(config: string, handler: Handler, options: WorkerOptions): WebhookWorker {
  let running: Promise<{ close(): Promise<void> }> | undefined;
  return {
    async start() {
      running ??= import("./route-worker.ts").then(({ startRouteWorker }) =>
        startRouteWorker(config, handlerAttempt(handler), options),
      );
      await running;
    },
    async close() {
      const closing = running;
      running = undefined;
      await (await closing)?.close();
    },
  };
}

function workerRoute(queue: Queue, destination: ReturnType<typeof handlerDestination>) {
  const weekMs = 7 * 86_400_000;
  const route = queueRoute(queue, {
    verification: { type: "none" },
    keys: [],
    toleranceMs: 0,
    dedupe: { windowMs: weekMs, weakWindowMs: weekMs, earlierWindows: [], sources: [], disabled: false },
    limits: { maxBodyBytes: 0, maxInFlightPerPod: 0, maxBacklog: 0 },
  });
  return { ...route, destinations: [destination] };
}
