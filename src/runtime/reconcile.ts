/** What a reconcile may ask for. */
export interface ReconcileResult {
  /** Look at this key again after so many ms although nothing changed: for work that time drives. */
  readonly requeueAfterMs?: number | undefined;
}

/**
 * Makes the world match one object, from whatever state it is in (level-triggered): it re-reads everything and may run at any time, twice, or after a crash.
 * @param key as `keyOf` makes it
 * @param signal fires when the reconcile has to end: too long, or the process stops
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | void>;

/** How a reconcile ended, in controller-runtime's words. */
export type Outcome = "success" | "requeue_after" | "error" | "terminal_error";
export const OUTCOMES: readonly Outcome[] = ["success", "requeue_after", "error", "terminal_error"];

/** Trying again cannot help until the object changes: it is counted and not retried. */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
  readonly code = "Terminal";
}

/** A reconcile took longer than it may. */
export class ReconcileTimeoutError extends Error {
  override readonly name = "ReconcileTimeoutError";
  readonly code = "ReconcileTimeout";
}
