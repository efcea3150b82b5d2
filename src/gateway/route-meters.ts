import type { Metrics } from "../observability/metrics.ts";
import type { KeyState } from "../verification/types.ts";
import type { Outcome } from "./refusals.ts";

interface Counting {
  inc(by?: number): void;
}

const OUTCOMES: readonly Outcome[] = [
  "accepted",
  "duplicate",
  "revived",
  "rejected",
  "unauthenticated",
  "limited",
  "unavailable",
  "too_large",
  "unprocessable",
  "aborted",
];

/** The gateway's series of one route, looked up once and begun at 0. */
export interface RouteMeters {
  readonly requests: Readonly<Partial<Record<Outcome, Counting>>>;
  readonly verified: Readonly<Record<KeyState, Counting>>;
  readonly unverified: Counting;
  readonly accepted: Counting;
  readonly duplicates: Counting;
  readonly replayed: Counting;
  readonly duration: { observe(seconds: number): void };
  readonly age: { observe(seconds: number): void };
}

/** Makes the series of a route. */
export function routeMeters(metrics: Metrics, namespace: string, route: string): RouteMeters {
  const verified = (key: KeyState) => begin(metrics.verifications.labels(namespace, route, "ok", key));
  return {
    requests: Object.fromEntries(
      OUTCOMES.map((outcome) => [outcome, begin(metrics.ingestRequests.labels(namespace, route, outcome))]),
    ),
    verified: { current: verified("current"), previous: verified("previous"), next: verified("next") },
    unverified: begin(metrics.verifications.labels(namespace, route, "refused", "")),
    accepted: begin(metrics.eventsAccepted.labels(namespace, route)),
    duplicates: begin(metrics.duplicates.labels(namespace, route)),
    replayed: begin(metrics.replayed.labels(namespace, route)),
    duration: metrics.ingestDuration.labels(namespace, route),
    age: metrics.ingestAge.labels(namespace, route),
  };
}

function begin<T extends Counting>(series: T): T {
  series.inc(0);
  return series;
}

/** Removes the series of a route that is gone. */
export function removeRouteMeters(metrics: Metrics, namespace: string, route: string): void {
  for (const outcome of OUTCOMES) metrics.ingestRequests.remove(namespace, route, outcome);
  for (const key of ["current", "previous", "next"]) metrics.verifications.remove(namespace, route, "ok", key);
  metrics.verifications.remove(namespace, route, "refused", "");
  for (const series of [
    metrics.eventsAccepted,
    metrics.duplicates,
    metrics.replayed,
    metrics.ingestDuration,
    metrics.ingestAge,
  ]) {
    series.remove(namespace, route);
  }
}
