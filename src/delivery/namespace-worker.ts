import type { RoutePolicy } from "../custody/port.ts";
import type { RedisStore } from "../custody/redis/store.ts";
import type { HttpSender } from "../egress/http-sender.ts";
import { systemClock } from "../lib/clock.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Attempt } from "./attempt.ts";
import type { WorkerConfiguration } from "./destinations.ts";
import { NoticeWebhooks } from "./notifications/notice-webhooks.ts";
import { notify, noticeRound } from "./notifications/notifier.ts";
import { OperationMetrics } from "./operation-metrics.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

export interface NamespaceWorkerOptions {
  readonly store: Pick<RedisStore, "outbox" | "notices">;
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
  /** Sends what is to be told of WebhookDestinations (`notify.url`). Default: it is left to other workers. */
  readonly noticeSender?: Pick<HttpSender, "send"> | undefined;
}

/** Notices of a round. */
const NOTICES_AT_ONCE = 32;

/** A worker and its outbox, which both go by the same destinations. */
export class NamespaceWorker {
  readonly #worker: Worker;
  readonly #options: NamespaceWorkerOptions;
  readonly #stopping = new AbortController();
  #destinations: WorkerConfiguration;
  #telling: Promise<void> | undefined;

  constructor(options: NamespaceWorkerOptions) {
    const { store, scope, attempt, destinations, dedicatedRoute, owns, slots, logger, metrics, onGate } = options;
    this.#options = options;
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
    const { noticeSender, dedicatedRoute } = this.#options;
    if (noticeSender !== undefined && dedicatedRoute === undefined) this.#telling = this.#tell(noticeSender);
    return this.#worker.start();
  }

  /** Goes by these from now on, events that are queued from their next attempt. */
  update(destinations: WorkerConfiguration): void {
    this.#destinations = destinations;
    this.#worker.update(destinations);
  }

  /** See `Worker.stop`. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#worker.stop(), this.#telling]);
  }

  #tell(sender: Pick<HttpSender, "send">): Promise<void> {
    const { store, scope, logger, metrics } = this.#options;
    const channel = new NoticeWebhooks({ scope, sender, configuration: () => this.#destinations, clock: systemClock });
    const { namespace } = scope;
    const notices = store.notices(scope);
    const options = {
      namespace,
      reader: "webhook",
      notices,
      channel,
      limit: NOTICES_AT_ONCE,
      logger,
      metrics,
    } as const;
    return notify({ round: (signal) => noticeRound(options, signal), logger }, this.#stopping.signal);
  }
}

/** What the routes of the config say of keeping their events. */
function routePolicies(destinations: WorkerConfiguration): RoutePolicy[] {
  const { routes } = destinations;
  if (routes) return [...routes.values()].map(({ policy }) => policy);
  return [...destinations.values()].map(({ policy }) => policy.policy);
}
