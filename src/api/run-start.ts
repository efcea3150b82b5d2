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
