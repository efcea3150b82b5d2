import type { TakenCopy } from "../custody/port.ts";
import { RedisStore } from "../custody/redis/store.ts";
import type { Attempt, AttemptContext, AttemptResult } from "../delivery/attempt.ts";
import { workerDestinations, type WorkerDestination } from "../delivery/destinations.ts";
import { redact } from "../delivery/redact.ts";
import { Worker } from "../delivery/worker.ts";
import { createLogger, type Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import { type Queue, type QueueOptions, resolveQueue } from "./queue.ts";
import { handlerDestination, type HandlerSettings, KEPT_SIGNATURE, queueRoute } from "./route.ts";

/** A webhook as a handler sees it. */
export interface WebhookPayload {
  /** The body as UTF-8 text. */
  readonly body: string;
  /** The body's bytes as they were signed. */
  readonly rawBody: Buffer;
  /** The signature in its canonical form (hex in lower case). */
  readonly sig: string;
  /** Unix ms, Redis's clock. */
  readonly receivedAt: number;
  /** Lower-case names. Without credentials, signatures and hop-by-hop fields. */
  readonly headers: Readonly<Record<string, string>>;
  /** The event's id, the same over retries and replays: what to deduplicate by. */
  readonly id: string;
}

/** The attempt a handler runs in. */
export interface HandlerJob {
  /** The event's id. */
  readonly id: string;
  readonly queueName: string;
  /** Attempts of the present life that failed before this one. */
  readonly attemptsMade: number;
  /** Number of this attempt, from 1, over replays. */
  readonly attempt: number;
  /** Receipt, Unix ms. */
  readonly timestamp: number;
  /** Aborts when the handler's time is up. */
  readonly signal: AbortSignal;
}

/** Returning is success; throwing is a failure, tried again by the schedule. An error with `permanent: true` is not tried again. */
export type Handler = (payload: WebhookPayload, job: HandlerJob) => unknown;

export interface WorkerOptions extends QueueOptions, HandlerSettings {
  /** Handlers at a time, over all processes of the queue. Default 16, at most 500. */
  readonly concurrency?: number;
  /** Time a handler has, at most `60s`, the default. One that is still busy then counts as failed and is tried again. */
  readonly timeout?: string;
  /** Delays before the 2nd, 3rd, … attempt. Default `["1s", "5s", "30s"]`: dead on the 4th failure. */
  readonly retrySchedule?: readonly string[];
  readonly logger?: Logger;
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
 * @throws TypeError when an option is out of range; the message names it
 */
export function createWorker(handler: Handler, options: WorkerOptions = {}): WebhookWorker {
  if (typeof handler !== "function") throw new TypeError("handler must be a function");
  const queue = resolveQueue(options);
  const destination = handlerDestination(queue, options);
  const logger = (options.logger ?? createLogger("worker")).child({ queue: queue.name, deadLetters: queue.deadName });
  const destinations = workerDestinations([workerRoute(queue, destination)]);
  let running: { readonly store: RedisStore; readonly worker: Worker } | undefined;
  return {
    async start() {
      if (running !== undefined) return;
      const store = new RedisStore({ url: queue.url });
      const policies = () => [...destinations.values()].map(({ policy }) => policy.policy);
      const worker = new Worker({
        outbox: store.outbox(queue.scope, { policies }),
        attempt: handlerAttempt(handler, queue),
        destinations,
        logger,
        ...(options.metrics && { metrics: options.metrics }),
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

function handlerAttempt(handler: Handler, queue: Queue): Attempt {
  return async (copy: TakenCopy, destination: WorkerDestination, context: AttemptContext): Promise<AttemptResult> => {
    if (!context.beforeWrite()) return { type: "notSent" };
    const began = performance.now();
    const durationMs = () => performance.now() - began;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), destination.entry.timeoutMs);
    const timedOut = new Promise<AttemptResult>((resolve) => {
      timeout.signal.addEventListener("abort", () =>
        resolve({ type: "error", code: "timeout", durationMs: durationMs() }),
      );
    });
    const handled = run(handler, copy, jobOf(copy, queue, timeout.signal)).then(
      (): AttemptResult => ({ type: "handled", durationMs: durationMs() }),
      (error: unknown): AttemptResult => ({ ...failure(error), durationMs: durationMs() }),
    );
    try {
      return await Promise.race([handled, timedOut]);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** An `async` function, so that a handler that throws at once rejects. */
async function run(handler: Handler, copy: TakenCopy, job: HandlerJob): Promise<void> {
  await handler(payloadOf(copy), job);
}

function payloadOf({ body, headers, receivedAt, eventId }: TakenCopy): WebhookPayload {
  const { [KEPT_SIGNATURE]: sig = "", ...others } = headers;
  return { body: body.toString("utf8"), rawBody: body, sig, receivedAt, headers: others, id: eventId };
}

function jobOf(copy: TakenCopy, queue: Queue, signal: AbortSignal): HandlerJob {
  const { eventId: id, used, attempt, receivedAt: timestamp } = copy;
  return { id, queueName: queue.name, attemptsMade: used - 1, attempt, timestamp, signal };
}

const MAX_DETAIL = 500;

/** What a handler threw, in words that may be kept: no stack, bounded, credentials in URLs redacted. */
function failure(error: unknown): { type: "handlerError"; code: string; detail: string; permanent: boolean } {
  const detail = redact(error instanceof Error ? error.message : String(error)).slice(0, MAX_DETAIL);
  const code = error instanceof Error ? error.name : "Error";
  const permanent = typeof error === "object" && error !== null && "permanent" in error && error.permanent === true;
  return { type: "handlerError", code, detail, permanent };
}
