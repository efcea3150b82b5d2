import { parseDuration } from "../lib/duration.ts";
import type { DestinationEntry, RouteEntry } from "../routes/entry.ts";
import type { Queue } from "./queue.ts";

const DAY_MS = 86_400_000;

/** 1 s, 5 s, 30 s: dead on the 4th failure. */
const DEFAULT_SCHEDULE: readonly string[] = ["1s", "5s", "30s"];
/** A handler is given this long. */
const DEFAULT_TIMEOUT = "60s";
const MAX_TIMEOUT_MS = 60_000;
const DEFAULT_CONCURRENCY = 16;

export interface HandlerSettings {
  readonly concurrency?: number;
  readonly timeout?: string;
  readonly retrySchedule?: readonly string[];
}

/**
 * The one destination of a queue: the handler.
 * @throws TypeError naming the option that is out of range
 */
export function handlerDestination(queue: Queue, settings: HandlerSettings = {}): DestinationEntry {
  const { concurrency = DEFAULT_CONCURRENCY, timeout = DEFAULT_TIMEOUT, retrySchedule = DEFAULT_SCHEDULE } = settings;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 500) {
    throw new TypeError("concurrency must be a whole number from 1 to 500");
  }
  const timeoutMs = parseDuration(timeout);
  if (timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) throw new TypeError("timeout must be at most 60s");
  return {
    id: queue.destination,
    name: "handler",
    target: { type: "handler" },
    eventTypes: [],
    timeoutMs,
    concurrency,
    retry: {
      type: "schedule",
      delaysMs: retrySchedule.map(parseDuration),
      jitter: 0,
      giveUpAfterMs: 3 * DAY_MS,
      maxRetryAfterMs: 7 * DAY_MS,
      maxAgeMs: 30 * DAY_MS,
    },
    headers: {},
    forwardHeaders: ["*"],
  };
}

/** What differs between embedded routes. */
export type RouteChange = Pick<RouteEntry, "verification" | "keys" | "toleranceMs" | "dedupe" | "limits"> &
  Partial<Pick<RouteEntry, "publicUrl" | "parameters" | "response">>;

/** The route of a queue, as `compile` would make it from a manifest. */
export function queueRoute(queue: Queue, change: RouteChange): RouteEntry {
  return {
    schema: 1,
    minReader: 1,
    seq: 1,
    instance: queue.scope.instance,
    namespace: queue.scope.namespace,
    name: queue.name,
    route: queue.route,
    host: "",
    path: "/",
    methods: ["POST"],
    suspend: "None",
    publicUrl: "",
    allowedSourceRanges: [],
    parameters: {},
    payload: { format: "Any", requiredFields: [] },
    response: { status: 202 },
    retention: { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 10_000, keepBodies: false },
    worker: { dedicated: false, concurrency: 500 },
    destinations: [handlerDestination(queue)],
    ...change,
  };
}
