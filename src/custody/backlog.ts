import type { GateState } from "./gate.ts";

/** Backlog of one route or destination. Ages in seconds; 0 when there is nothing. */
export interface Backlog {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly dead: number;
  readonly oldestWaitingSeconds: number;
  readonly oldestDelayedSeconds: number;
  /** Since a copy was delivered last; absent when none is known to have been. */
  readonly deliveredSecondsAgo?: number;
  /** Of a destination whose gate ever changed. */
  readonly gate?: GateState;
}

/** A page of {@link Backlogs.sharedBacklogs}. Keys are destinations, `~<id>`. */
export interface SharedBacklogs {
  readonly backlogs: ReadonlyMap<string, Backlog>;
  /** The id to go on after. Absent: these were the last ones. */
  readonly next?: string;
}

/** The part of the custody port that tells what waits. */
export interface Backlogs {
  /** One script for all of them. Keys are destinations. */
  stats(destinations: readonly string[]): Promise<ReadonlyMap<string, Backlog>>;
  /**
   * What lies for the namespace's WebhookDestinations, by their ids, whatever routes it came from. Those that have no copies (dead ones count as some) cost next to
   * nothing and are left out, unless `deliveries` asks also for those that something was once delivered to.
   *
   * @param query.limit most WebhookDestinations that are looked at, whether they have copies or not
   */
  sharedBacklogs(query: {
    readonly limit: number;
    readonly cursor?: string;
    readonly deliveries?: boolean;
  }): Promise<SharedBacklogs>;
}
