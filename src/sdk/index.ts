export { createServer } from "./server.ts";
export { createWorker } from "./worker.ts";
export { replayDeadLetter } from "./replay.ts";
export type { RateLimit, ServerOptions, WebhookApp } from "./server.ts";
export type { Handler, HandlerJob, WebhookPayload } from "./handler.ts";
export type { WebhookWorker, WorkerOptions } from "./worker.ts";
export type { ReplayOptions, ReplayResult } from "./replay.ts";
