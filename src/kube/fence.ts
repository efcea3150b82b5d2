/** Says whether this process may still write: the leader's lease, looked at right before each write. */
export interface Fence {
  /** @throws NotLeaderError when the right to write has run out */
  check(): void;
  /** Fires when it is lost; calls in flight end then. */
  readonly signal: AbortSignal;
}

/** A write was held back because this process is not, or no longer, the leader. Nothing was sent. */
export class NotLeaderError extends Error {
  override readonly name = "NotLeaderError";
  readonly code = "NotLeader";
}
