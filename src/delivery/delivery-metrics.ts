import type { Metrics } from "../observability/metrics.ts";
import { DestinationLabels, OTHERS } from "./destination-labels.ts";
import type { WorkerDestination } from "./destinations.ts";
import type { PendingSettle } from "./lane.ts";
import { codeClass } from "./narrative.ts";

/** Counts attempts when they end, and final states once the store confirmed them. */
export class DeliveryMetrics {
  readonly #metrics: Metrics | undefined;
  readonly #labels = new DestinationLabels();
  /** What the gauge of requests in flight says. */
  readonly #told = new WeakMap<WorkerDestination, number>();

  constructor(metrics: Metrics | undefined) {
    this.#metrics = metrics;
  }

  attemptEnded({ settle, result, destination }: PendingSettle): void {
    const metrics = this.#metrics;
    if (metrics === undefined || result === undefined || destination === undefined) return;
    const { namespace, routeName: route } = destination;
    const labels = { namespace, route, destination: this.#labels.of(destination) };
    const { record, outcome } = settle;
    metrics.deliveryAttempts.inc({ ...labels, outcome, code_class: codeClass(record) });
    metrics.deliveryDuration.observe(labels, result.durationMs / 1_000);
    if (record.delayMs !== undefined && record.delaySource !== undefined) {
      metrics.retryDelay.observe({ namespace, route, source: record.delaySource }, record.delayMs / 1_000);
    }
  }

  /** @param now Unix ms on the store's clock */
  confirmed(pending: PendingSettle, now: number): void {
    const metrics = this.#metrics;
    const route = routeLabels(pending);
    if (metrics === undefined || route === undefined) return;
    const { settle, running } = pending;
    const { outcome, record } = settle;
    if (outcome !== "delivered" && outcome !== "dead") return;
    if (outcome === "delivered") metrics.eventsDelivered.inc(route);
    else metrics.deadLetters.inc({ ...route, reason: reasonLabel(record.reason) });
    metrics.eventCompletion.observe({ ...route, outcome }, Math.max(0, now - running.copy.receivedAt) / 1_000);
  }

  /** @param destination of the turn in which they were found, when there was only one */
  unknown(count: number, destination: WorkerDestination | undefined): void {
    if (count === 0) return;
    const labels = { namespace: destination?.namespace ?? "", route: destination?.routeName ?? "" };
    this.#metrics?.unknownOutcomes.inc(labels, count);
  }

  workerLost(count: number, destination: WorkerDestination | undefined): void {
    if (count === 0) return;
    const labels = { namespace: destination?.namespace ?? "", route: destination?.routeName ?? "" };
    this.#metrics?.deadLetters.inc({ ...labels, reason: "WorkerLost" }, count);
  }

  inFlight(destination: WorkerDestination | undefined, count: number): void {
    // Asked several times a second for each destination held: a gauge that is set anew costs more than one that is left alone.
    if (destination === undefined || this.#told.get(destination) === count) return;
    this.#told.set(destination, count);
    const name = this.#labels.of(destination);
    // Each would set the figure of all the others.
    if (name === OTHERS) return;
    const { namespace, routeName: route } = destination;
    this.#metrics?.destinationInFlight.set({ namespace, route, destination: name }, count);
  }
}

function routeLabels({ destination, route }: PendingSettle): { namespace: string; route: string } | undefined {
  if (destination !== undefined) return { namespace: destination.namespace, route: destination.routeName };
  return route && { namespace: route.namespace, route: route.name };
}

/** A status chosen by a destination must not make a series of its own. */
function reasonLabel(reason: string | undefined): string {
  return reason?.replace(/^Status(\d)\d\d$/, "Status$1xx") ?? "unknown";
}
