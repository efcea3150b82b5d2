import type { Config } from "../../config/schema.ts";
import { CleanupPolicyControllers } from "../../controllers/cleanup-policy/index.ts";
import { WebhookRouteControllers } from "../../controllers/webhook-route/index.ts";
import type { KubeClient } from "../../kube/client.ts";
import { EventRecorder } from "../../kube/event-recorder.ts";
import { LeaderElector } from "../../kube/leader-elector.ts";
import { leaderLeaseName } from "../../api/names.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { Manager } from "../../runtime/manager.ts";
import { RedisSide } from "./redis-side.ts";
import { showRoutes } from "./state-metrics.ts";

export interface LifeOptions {
  readonly config: Config;
  readonly client: KubeClient;
  /** Of the process, in the leader's Lease. */
  readonly identity: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * The controllers of a process with all they know: caches, queues, and one term as leader. When the term is lost, as it is when the API server stays
 * away, nothing of it is used any more: the next life reads everything anew, and the process goes on.
 */
export class Life {
  readonly #options: LifeOptions;
  readonly #elector: LeaderElector;
  readonly #events: EventRecorder;
  readonly #redis: RedisSide;
  readonly #controllers: WebhookRouteControllers;
  readonly #cleanup: CleanupPolicyControllers;
  readonly #manager: Manager;

  constructor(options: LifeOptions) {
    const { config, client, identity, metrics, logger } = options;
    this.#options = options;
    this.#elector = new LeaderElector({
      client,
      namespace: config.namespace,
      name: leaderLeaseName(config.instance),
      identity,
      metrics,
      onError: (error) => logger.warn({ err: error }, "the leader's Lease could not be read or written; trying again"),
    });
    const fenced = client.fencedBy(this.#elector);
    this.#events = new EventRecorder({
      client: fenced,
      reportingController: "davit.dev/controller",
      reportingInstance: identity,
      onDropped: (error) => logger.debug({ err: error }, "an Event was not written"),
    });
    const events = this.#events;
    const isLeader = () => this.#elector.isLeader();
    this.#redis = new RedisSide({ config, metrics, logger, client: fenced, events, isLeader });
    const { custody, gates, users } = this.#redis;
    this.#controllers = new WebhookRouteControllers({
      config,
      client: fenced,
      events,
      clock: systemClock,
      metrics,
      logger,
      observations: custody,
      shelves: custody,
      gates,
      redisAccess: users,
    });
    const { operator, watches } = this.#controllers;
    this.#cleanup = new CleanupPolicyControllers({ operator, watches, metrics, isLeader });
    this.#manager = new Manager({ logger, elector: this.#elector });
    this.#controllers.register(this.#manager);
    this.#cleanup.register(this.#manager);
    this.#redis.register(this.#manager, operator);
  }

  readiness(): Readiness {
    return this.#manager.readiness();
  }

  /** Before a scrape. */
  show(): void {
    showRoutes(this.#controllers.operator, this.#options.metrics, this.#elector.isLeader());
    this.#cleanup.show();
  }

  /** Answers what autoscalers ask. */
  scale(path: string): ReturnType<RedisSide["custody"]["scale"]> {
    return this.#redis.custody.scale(path);
  }

  /** Connects to Redis. */
  start(): void {
    this.#redis.start();
  }

  /**
   * Works until the signal fires. Nothing of it runs any more when this ends, in whatever way.
   * @throws LeadershipLostError, or what stopped the controllers
   */
  run(signal: AbortSignal): Promise<void> {
    return this.#manager.run(signal);
  }

  /** Writes the last Events and lets go of Redis. */
  async end(): Promise<void> {
    await this.#events.flush();
    this.#redis.close();
  }
}
