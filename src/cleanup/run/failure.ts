import { StoreError } from "../store/port.ts";

/** Why a run or an attempt of it cannot go on: the word stands in the run's status. */
export class RunFailure extends Error {
  override readonly name = "RunFailure";
  /** A word, such as `VersioningSuspended`. */
  readonly code: string;
  /** Trying again may help. */
  readonly retryable: boolean;

  constructor(code: string, message: string, options: { readonly retryable?: boolean; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** Why an attempt is ended although nothing failed. */
export type StopCode = "Suspended" | "PolicyGone" | "Stopping" | "Cancelled" | "DeadlineExceeded" | "LeaseLost";

/** An attempt that is ended from outside: the reason of its signals. */
export class RunStopped extends Error {
  override readonly name = "RunStopped";
  readonly code: StopCode;

  constructor(code: StopCode) {
    super(`the attempt is ended: ${code}`);
    this.code = code;
  }
}

/** What a rejection says of an attempt. What nobody knows is tried again: attempts are bounded. */
export function failureOf(error: unknown): RunFailure {
  if (error instanceof RunFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreError)
    return new RunFailure(error.code, message, { retryable: error.retryable, cause: error });
  return new RunFailure("InternalError", message, { retryable: true, cause: error });
}
