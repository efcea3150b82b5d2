import type { TakenCopy } from "../custody/port.ts";
import type { SendResult } from "../egress/exchange.ts";
import type { WorkerDestination } from "./destinations.ts";

/** How one attempt ended: an HTTP exchange, a handler in this process, or a run that was asked for. */
export type AttemptResult =
  | SendResult
  /** A handler that returned. */
  | { readonly type: "handled"; readonly durationMs: number }
  /** A handler that threw. `detail` is its message, redacted; `permanent`: trying again cannot help. */
  | {
      readonly type: "handlerError";
      readonly code: string;
      readonly detail: string;
      readonly permanent: boolean;
      readonly durationMs: number;
    }
  /** There is a run of a CleanupPolicy that asks for the same. */
  | { readonly type: "runStarted"; readonly isNew: boolean; readonly durationMs: number }
  /** There can never be one; the `reason` is the dead letter's. `detail` holds no value of the event. */
  | {
      readonly type: "runRefused";
      readonly reason: "RunConflict" | "InvalidRunRequest";
      readonly detail: string;
      readonly durationMs: number;
    };

export interface AttemptContext {
  /** Aborts when the process stops: give up with `notSent` what has not begun, finish what has. */
  readonly signal: AbortSignal;
  /** Must be asked in the same turn of the event loop in which the effect begins. `false`: end with `notSent`. */
  readonly beforeWrite: () => boolean;
}

/**
 * Carries a copy to its destination, once. Must resolve within `destination.entry.timeoutMs`, for the copy is leased that long and 5 s more.
 * A rejection counts as an error that may be retried.
 */
export type Attempt = (
  copy: TakenCopy,
  destination: WorkerDestination,
  context: AttemptContext,
) => Promise<AttemptResult>;
