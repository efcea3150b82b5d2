import type { RoutePolicy } from "../custody/port.ts";
import type { RedisStore } from "../custody/redis/store.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { WorkerConfiguration } from "./destinations.ts";
import { OperationMetrics } from "./operation-metrics.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

export interface NamespaceWorkerOptions {
  readonly store: Pick<RedisStore, "outbox">;
  readonly scope: { readonly instance: string; readonly namespace: string };
  readonly attempt: Attempt;
  readonly destinations: WorkerConfiguration;
  /** Route key, for the workers of one route alone. */
  readonly dedicatedRoute?: string | undefined;
  /** Whether a destination's tickets belong to these workers. Default: all do. */
  readonly owns?: (destination: string, destinations: WorkerConfiguration) => boolean;
  /** Requests at a time. Default 500. */
  readonly slots?: number | undefined;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  /** See `WorkerOptions.onGate`. */
  readonly onGate?: WorkerOptions["onGate"];
}

/** A worker and its outbox, which both go by the same destinations. */
export class NamespaceWorker {
  readonly #worker: Worker;
  #destinations: WorkerConfiguration;

  constructor(options: NamespaceWorkerOptions) {
    const { store, scope, attempt, destinations, dedicatedRoute, owns, slots, logger, metrics, onGate } = options;
    this.#destinations = destinations;
    const operations = new OperationMetrics(metrics, () => this.#destinations);
    const outbox = store.outbox(scope, {
      onOperated: (operated) => operations.count(operated),
      policies: () => routePolicies(this.#destinations),
      ...(dedicatedRoute !== undefined && { dedicatedRoute }),
      ...(owns && { owns: (destination) => owns(destination, this.#destinations) }),
    });
    this.#worker = new Worker({
      outbox,
      attempt,
      destinations,
      logger,
      ...(slots !== undefined && { slots }),
      ...(metrics && { metrics }),
      ...(onGate && { onGate }),
    });
  }

  start(): Promise<void> {
    return this.#worker.start();
  }

  /** Goes by these from now on, events that are queued from their next attempt. */
  update(destinations: WorkerConfiguration): void {
    this.#destinations = destinations;
    this.#worker.update(destinations);
  }

  /** See `Worker.stop`. */
  stop(): Promise<void> {
    return this.#worker.stop();
  }
}

/** What the routes of the config say of keeping their events. */
function routePolicies(destinations: WorkerConfiguration): RoutePolicy[] {
  const { routes } = destinations;
  if (routes) return [...routes.values()].map(({ policy }) => policy);
  return [...destinations.values()].map(({ policy }) => policy.policy);
}
