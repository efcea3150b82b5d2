import type { Metrics } from "../observability/metrics.ts";
import type { CounterSeries, HistogramSeries } from "../observability/series.ts";
import type { KeyState } from "../verification/types.ts";
import type { Outcome } from "./refusals.ts";

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
  "handshake",
];

/** The gateway's series of one route, looked up once and begun at 0. */
export interface RouteMeters {
  readonly requests: Readonly<Partial<Record<Outcome, CounterSeries>>>;
  readonly verified: Readonly<Record<KeyState, CounterSeries>>;
  readonly unverified: CounterSeries;
  readonly accepted: CounterSeries;
  readonly duplicates: CounterSeries;
  readonly replayed: CounterSeries;
  readonly withoutId: CounterSeries;
  readonly duration: HistogramSeries;
  readonly age: HistogramSeries;
}

/**
 * Makes the series of a route.
 *
 * @param ackBudgetMs of its provider, when it is known
 */
export function routeMeters(
  metrics: Metrics,
  { namespace, name: route }: { readonly namespace: string; readonly name: string },
  ackBudgetMs: number | undefined,
): RouteMeters {
  if (ackBudgetMs === undefined) metrics.ackBudget.remove({ namespace, route });
  else metrics.ackBudget.set({ namespace, route }, ackBudgetMs / 1_000);
  const verified = (key: KeyState) => metrics.verifications.labels(namespace, route, "ok", key);
  return {
    requests: Object.fromEntries(
      OUTCOMES.map((outcome) => [outcome, metrics.ingestRequests.labels(namespace, route, outcome)]),
    ),
    verified: { current: verified("current"), previous: verified("previous"), next: verified("next") },
    unverified: metrics.verifications.labels(namespace, route, "refused", ""),
    accepted: metrics.eventsAccepted.labels(namespace, route),
    duplicates: metrics.duplicates.labels(namespace, route),
    replayed: metrics.replayed.labels(namespace, route),
    withoutId: metrics.dedupeWithoutId.labels(namespace, route),
    duration: metrics.ingestDuration.labels(namespace, route),
    age: metrics.ingestAge.labels(namespace, route),
  };
}

/** Removes the series of a route that is gone. */
export function removeRouteMeters(metrics: Metrics, namespace: string, route: string): void {
  for (const outcome of OUTCOMES) metrics.ingestRequests.remove(namespace, route, outcome);
  for (const key of ["current", "previous", "next"]) metrics.verifications.remove(namespace, route, "ok", key);
  metrics.verifications.remove(namespace, route, "refused", "");
  metrics.ackBudget.remove({ namespace, route });
  for (const series of [
    metrics.eventsAccepted,
    metrics.duplicates,
    metrics.replayed,
    metrics.dedupeWithoutId,
    metrics.ingestDuration,
    metrics.ingestAge,
  ]) {
    series.remove(namespace, route);
  }
}
