import type { TakenCopy } from "../custody/port.ts";
import type { Attempt, AttemptContext, AttemptResult } from "../delivery/attempt.ts";
import type { WorkerDestination } from "../delivery/destinations.ts";
import { redact } from "../delivery/redact.ts";
import { KEPT_SIGNATURE } from "../gateway/kept-headers.ts";

/** A webhook as a handler sees it. */
export interface WebhookPayload {
  /** The body as UTF-8 text. */
  readonly body: string;
  /** The body's bytes as they were signed. */
  readonly rawBody: Buffer;
  /**
   * The signature that was verified, in its canonical form (hex in lower case): of `createServer`, or of the route in a cluster. Empty when none was
   * (`token`, `basic`, `none`).
   */
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

/**
 * An attempt that runs the handler.
 * @param queueName what the handler is told; default `<namespace>/<route>`
 */
export function handlerAttempt(handler: Handler, queueName?: string): Attempt {
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
    const name = queueName ?? `${destination.namespace}/${destination.routeName}`;
    const job = jobOf(copy, name, timeout.signal);
    const handled = run(handler, copy, job).then(
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

function jobOf(copy: TakenCopy, queueName: string, signal: AbortSignal): HandlerJob {
  const { eventId: id, used, attempt, receivedAt: timestamp } = copy;
  return { id, queueName, attemptsMade: used - 1, attempt, timestamp, signal };
}

const MAX_DETAIL = 500;

/** What a handler threw, in words that may be kept: no stack, bounded, credentials in URLs redacted. */
function failure(error: unknown): { type: "handlerError"; code: string; detail: string; permanent: boolean } {
  const detail = redact(error instanceof Error ? error.message : String(error)).slice(0, MAX_DETAIL);
  const code = error instanceof Error ? error.name : "Error";
  const permanent = typeof error === "object" && error !== null && "permanent" in error && error.permanent === true;
  return { type: "handlerError", code, detail, permanent };
}
