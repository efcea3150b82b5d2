import type { GateView } from "./gate.ts";
import type { Page } from "./operations.ts";
import type { Backlog } from "./backlog.ts";

/**
 * The part of the custody port that tells how destinations are doing. `conformance/statistics.ts` is the suite every implementation passes.
 * Times are Unix ms on the store's clock.
 */

/** Attempts of one destination that ended in one hour. Those of a lost worker are in neither count. */
export interface HourlyOutcomes {
  /** The hour's beginning. */
  readonly from: number;
  readonly delivered: number;
  /** Attempts that did not deliver: put off, or given up. */
  readonly failed: number;
}

/** What the store knows of one destination, as of one moment. */
export interface DestinationStatistics {
  readonly destination: string;
  /** Time of the answer. */
  readonly at: number;
  readonly gate: GateView;
  /** Copies by state: waiting ones are `ready`, or `replayed` and taken after those; `delayed` ones wait for their time; `active` ones are under way. */
  readonly copies: {
    readonly ready: number;
    readonly replayed: number;
    readonly delayed: number;
    readonly active: number;
    readonly dead: number;
  };
  /** Receipt of the oldest waiting copy. Absent: none waits. */
  readonly oldestWaitingAt?: number;
  readonly oldestDelayedAt?: number;
  /** Absent: nothing is known to have been delivered. */
  readonly lastDeliveredAt?: number;
  /** Hours of yesterday and today (UTC) in which anything ended, oldest first. */
  readonly hours: readonly HourlyOutcomes[];
}

/** A destination in a list. */
export interface DestinationSummary {
  readonly destination: string;
  readonly backlog: Backlog;
}

/** Statistics of one namespace. */
export interface Statistics {
  /** One that the store has never seen has a closed gate and nothing else. */
  of(destinations: readonly string[]): Promise<ReadonlyMap<string, DestinationStatistics>>;
  /** Every destination that ever had copies, by id: inline ones of routes that were purged are forgotten. The cursor is the page's last id. */
  list(query: { readonly limit: number; readonly cursor?: string }): Promise<Page<DestinationSummary>>;
}
