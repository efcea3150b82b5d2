import type { RouteObservation } from "../../../routes/observations.ts";

/** What the gateways saw of a route makes of it. */
export interface Verdict {
  /** Most requests fail verification. */
  readonly isFailing: boolean;
  /** Answers come close to the time after which the provider gives up. */
  readonly isSlow: boolean;
}

/** Nothing is wrong: what gateways say of a route they do not name. */
export const FINE: Verdict = { isFailing: false, isSlow: false };

/** A condition begins above `begin` and ends at `end`, so that a share at the border does not go to and fro. */
interface Threshold {
  readonly fewest: number;
  readonly begin: number;
  readonly end: number;
}

/** More than half of at least 10 requests. */
const FAILING: Threshold = { fewest: 10, begin: 0.5, end: 0.4 };
/** More than one in a hundred of at least 20 answers: their 99th percentile lies above the mark. */
const SLOW: Threshold = { fewest: 20, begin: 0.01, end: 0.005 };

/**
 * Judges the sum of what all gateways saw within the window.
 *
 * @param before what was so until now; once something is wrong, it takes less to stay so, and no new requests
 */
export function judge({ requests, refused, slow }: RouteObservation, before: Verdict = FINE): Verdict {
  return {
    isFailing: isAbove(refused, requests, FAILING, before.isFailing),
    isSlow: isAbove(slow, requests, SLOW, before.isSlow),
  };
}

function isAbove(part: number, all: number, { fewest, begin, end }: Threshold, before: boolean): boolean {
  return before ? part > all * end : all >= fewest && part > all * begin;
}
