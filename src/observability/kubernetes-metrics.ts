import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const RECONCILE_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const QUEUE_SECONDS = [0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 300, 1_000];

/**
 * Metrics of the Kubernetes client, work queues, controllers and leader election under the names that client-go and controller-runtime gave them,
 * so that dashboards made for those work here (https://book.kubebuilder.io/reference/metrics-reference).
 */
export function createKubernetesMetrics(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter<L>({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge<L>({ name, help, labelNames, registers });
  const histogram = <L extends string>(options: {
    readonly name: string;
    readonly help: string;
    readonly labelNames: readonly L[];
    readonly buckets: number[];
  }) => new Histogram<L>({ ...options, registers });
  return {
    restClientRequests: counter(
      "rest_client_requests_total",
      "Calls to the API server by method and status; `<error>` when there was no answer",
      ["method", "code"],
    ),
    restClientDuration: histogram({
      name: "rest_client_request_duration_seconds",
      help: "Time to the answer's headers",
      labelNames: ["verb"],
      buckets: REQUEST_SECONDS,
    }),
    reconciles: counter("controller_runtime_reconcile_total", "Reconciles by outcome", ["controller", "result"]),
    reconcileDuration: histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "Duration of a reconcile",
      labelNames: ["controller"],
      buckets: RECONCILE_SECONDS,
    }),
    activeReconciles: gauge("controller_runtime_active_workers", "Reconciles that run now", ["controller"]),
    queueDepth: gauge("workqueue_depth", "Keys that wait", ["name"]),
    queueAdds: counter("workqueue_adds_total", "Keys put into the queue", ["name"]),
    queueRetries: counter("workqueue_retries_total", "Keys put back after a failure", ["name"]),
    queueWait: histogram({
      name: "workqueue_queue_duration_seconds",
      help: "Time a key waits before it is worked on",
      labelNames: ["name"],
      buckets: QUEUE_SECONDS,
    }),
    queueWork: histogram({
      name: "workqueue_work_duration_seconds",
      help: "Time a key is worked on",
      labelNames: ["name"],
      buckets: QUEUE_SECONDS,
    }),
    leaderElection: gauge("leader_election_master_status", "1 while this process leads", ["name"]),
    watchErrors: counter("reflector_errors_total", "Failed lists and watches, and handlers that threw, by kind", [
      "resource",
      "reason",
    ]),
    watchRelists: counter("reflector_relists_total", "Full lists after the first, by kind", ["resource"]),
  };
}

/** The part of `Metrics` that the Kubernetes client, queues and controllers use. */
export type KubernetesMetrics = ReturnType<typeof createKubernetesMetrics>;
