/** Redis must have been away for this long before routes are told, ms. */
const UNREACHABLE_AFTER_MS = 60_000;

/** Whether Redis answers, and since when (Unix ms). */
export interface QueueState {
  readonly isReachable: boolean;
  readonly since: number;
}

/** Knows since when Redis has been away, and when the statuses of routes are to say so, or no longer. */
export class QueueWatch {
  #state: QueueState;
  #isTold = false;

  /** @param now Unix ms */
  constructor(now: number) {
    this.#state = { isReachable: true, since: now };
  }

  get state(): QueueState {
    return this.#state;
  }

  /**
   * Takes in one look. A gap of less than a minute is told to nobody.
   * @returns whether all routes are to be looked at
   */
  note(isReachable: boolean, now: number): boolean {
    if (isReachable !== this.#state.isReachable) this.#state = { isReachable, since: now };
    const isToTell = !isReachable && now - this.#state.since >= UNREACHABLE_AFTER_MS;
    if (isToTell === this.#isTold) return false;
    this.#isTold = isToTell;
    return true;
  }
}
