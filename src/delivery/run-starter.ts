/** A run of a CleanupPolicy that an event asks for. */
export interface RunStart {
  readonly namespace: string;
  /** Name of the CleanupPolicy. */
  readonly policy: string;
  readonly runId: string;
  readonly scope: string;
  /** Unix ms. */
  readonly cutoff: number;
  readonly eventId: string;
  /** Unix ms at which the event was received. */
  readonly receivedAt: number;
}

/**
 * What came of it. `created` and `exists`: there is a run with this id that asks for the same. `conflict`: there is one that asks for something else, and always
 * will be. `noPolicy`: no such policy now.
 */
export type RunStarted = "created" | "exists" | "conflict" | "noPolicy";

/** Makes a run, at most once for an id. Rejects when it is not known whether there is one now; then asking again is safe. */
export type RunStarter = (start: RunStart, signal: AbortSignal) => Promise<RunStarted>;
