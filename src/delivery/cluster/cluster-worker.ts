import type { Server } from "node:http";
import { ConfigError } from "../../config/problem.ts";
import type { Config } from "../../config/schema.ts";
import { redisUrlOf } from "../../config/secret-file.ts";
import { RightsCheck } from "../../custody/redis/rights-check.ts";
import { RedisStore } from "../../custody/redis/store.ts";
import type { HttpSender } from "../../egress/http-sender.ts";
import { inClusterAuth } from "../../kube/in-cluster.ts";
import { KubeTransport } from "../../kube/transport.ts";
import { listen } from "../../lib/listen.ts";
import { createAdminServer, type Readiness } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { recordStoreHealth } from "../../observability/store-health.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { Attempt } from "../attempt.ts";
import { type SharedConfig, workerDestinations } from "../worker-destinations.ts";
import { NamespaceWorker } from "../namespace-worker.ts";
import { type Ownership, ownershipOf, ownsOf, type WorkerPlace } from "./config-parts.ts";
import { ConfigSource } from "./config-source.ts";

/** A worker judges ages and leases by its clock: one that is further off the store's is not ready, ms. */
const MAX_CLOCK_OFFSET_MS = 2_000;
const GAUGES_MS = 5_000;
/** Kubernetes gives a worker 75 s (`terminationGracePeriodSeconds`); what has not ended by then is let go, ms. */
const STOP_WITHIN_MS = 70_000;

export interface ClusterWorkerOptions {
  readonly config: Config;
  readonly attempt: Attempt;
  /** See `NamespaceWorkerOptions.noticeSender`. */
  readonly noticeSender?: Pick<HttpSender, "send">;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * A worker of a cluster: delivers the events of the routes that its config names, which it follows as it changes, and serves probes and metrics. The same
 * for the image's own workers and for handlers built on the SDK; they differ in the attempt.
 */
export class ClusterWorker {
  readonly #options: ClusterWorkerOptions;
  readonly #place: WorkerPlace;
  readonly #store: RedisStore;
  readonly #rights: RightsCheck;
  readonly #admin: Server;
  #transport: KubeTransport | undefined;
  #source: ConfigSource | undefined;
  #worker: NamespaceWorker | undefined;
  /** Whose tickets it takes; decided by its name and the first config that has its route. */
  #queue: string | undefined;
  #owns: (destination: string) => boolean = () => false;
  #gauges: NodeJS.Timeout | undefined;
  #stopping = false;

  /** @throws ConfigError when the config lacks what a worker needs */
  constructor(options: ClusterWorkerOptions) {
    const { config, metrics, logger } = options;
    this.#options = options;
    this.#place = placeOf(config);
    // Whether Redis is durable is the gateways' to judge: a worker's user may not read its settings.
    this.#store = new RedisStore({
      url: redisUrlOf(config.redis.urlFile),
      durability: "assert",
      onHealth: ({ up }) =>
        logger[up ? "info" : "error"](up ? "Redis answers" : "Redis does not answer or takes no writes"),
    });
    this.#rights = new RightsCheck({
      store: this.#store,
      scope: { instance: config.instance, namespace: this.#place.namespace },
      onChange: (problem) => {
        if (problem === undefined) logger.info("the Redis user has the rights it needs");
        else logger.error({ problem }, "the Redis user lacks rights: events are not delivered");
      },
    });
    this.#admin = createAdminServer(metrics.registry, () => this.readiness());
  }

  /** Port of probes and metrics, once it has started. */
  get admin(): Server {
    return this.#admin;
  }

  /**
   * Serves probes at once; delivers as soon as its config is known and Redis answers.
   * @throws KubeConfigError, ListenError
   */
  async start(): Promise<void> {
    const { config, metrics, logger } = this.#options;
    const { adminPort: port, address } = config.worker;
    await listen(this.#admin, { port, address, remedy: "set worker.adminPort to another" });
    const auth = await inClusterAuth(config.kubernetes);
    this.#transport = new KubeTransport({ auth, metrics, userAgent: "davit-worker" });
    await this.#store.start();
    await this.#rights.start();
    this.#gauges = setInterval(() => recordStoreHealth(metrics, this.#store.health()), GAUGES_MS);
    this.#gauges.unref();
    this.#source = new ConfigSource({
      transport: this.#transport,
      namespace: config.redis.users === "Shared" ? config.namespace : this.#place.namespace,
      configName: this.#place.configName,
      configDir: config.worker.configDir,
      onRoutes: (routes, shared) => this.#goBy(routes, shared),
      metrics,
      logger,
    });
    await this.#source.start();
  }

  /** For `/readyz`. */
  readiness(): Readiness {
    const { up, clockOffsetMs } = this.#store.health();
    const problems = [
      ...(this.#stopping ? ["stopping"] : []),
      ...this.#configProblems(),
      ...(up ? [] : ["the store does not answer or takes no writes"]),
      ...(Math.abs(clockOffsetMs) > MAX_CLOCK_OFFSET_MS
        ? [`clock is ${Math.round(clockOffsetMs)} ms off the store's`]
        : []),
      ...(this.#rights.problem === undefined ? [] : [this.#rights.problem]),
    ];
    return { ok: problems.length === 0, problems };
  }

  #configProblems(): readonly string[] {
    const readiness = this.#source?.readiness() ?? { ok: false, problems: ["the config was not looked for yet"] };
    if (!readiness.ok || this.#worker !== undefined) return readiness.problems;
    return [`the config ${this.#place.configName} lacks the route that these workers are for`];
  }

  /** Takes nothing more, finishes and settles what is under way, then closes. Not more than 70 s. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#source?.stop();
    const late = new Promise((resolve) => setTimeout(resolve, STOP_WITHIN_MS).unref());
    await Promise.race([this.#worker?.stop(), late]);
    this.#rights.stop();
    clearInterval(this.#gauges);
    await this.#transport?.close();
    this.#store.close();
    this.#admin.close();
    this.#admin.closeAllConnections();
  }

  #goBy(all: readonly RouteEntry[], shared: SharedConfig): void {
    const { logger } = this.#options;
    const routes = all.filter(({ namespace }) => namespace === this.#place.namespace);
    const ownership = ownershipOf(this.#place, routes);
    if (ownership === undefined) {
      return logger.error({ config: this.#place.configName }, "the config lacks the route that these workers are for");
    }
    const destinations = workerDestinations(routes, shared);
    logger.info({ routes: routes.length, destinations: destinations.size }, "going by this config now");
    this.#owns = ownsOf(ownership, routes);
    const queue = ownership.type === "shared" ? "shared" : ownership.route.route;
    if (queue === this.#queue) return this.#worker?.update(destinations);
    // The namespace was made anew: its route has the name and not the key of the one before.
    void this.#worker?.stop();
    this.#queue = queue;
    this.#worker = this.#workerFor(ownership, destinations);
    this.#worker.start().catch((error: unknown) => logger.error({ err: error }, "the worker cannot take tickets"));
  }

  #workerFor(ownership: Ownership, destinations: ReturnType<typeof workerDestinations>): NamespaceWorker {
    const { config, attempt, noticeSender, logger, metrics } = this.#options;
    const { instance, namespace } = this.#place;
    return new NamespaceWorker({
      store: this.#store,
      scope: { instance, namespace },
      attempt,
      noticeSender,
      destinations,
      dedicatedRoute: ownership.type === "dedicated" ? ownership.route.route : undefined,
      owns: (destination) => this.#owns(destination),
      slots: config.worker.concurrency,
      logger,
      metrics,
    });
  }
}

function placeOf({ instance, worker }: Config): WorkerPlace {
  const { namespace, configName } = worker;
  if (namespace !== undefined && configName !== undefined) return { instance, namespace, configName };
  const missing = Object.entries({ namespace, configName }).filter(([, value]) => value === undefined);
  const keys = missing.map(([key]) => `worker.${key}`).join(" and ");
  throw new ConfigError(`${keys} must be set: the controller writes the config of its workers`);
}
