import type { Config } from "../../config/schema.ts";
import type { KubeClient } from "../../kube/client.ts";
import { SECRETS } from "../../kube/core-types.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { destinationsNamespace, routesNamespace } from "../../api/names.ts";
import { Controller } from "../../runtime/controller.ts";
import type { Manager } from "../../runtime/manager.ts";
import type { Reconcile, ReconcileResult } from "../../runtime/reconcile.ts";
import { resync } from "../../runtime/resync.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { CompiledDestinations } from "../webhook-destination/compiled-destinations.ts";
import { DestinationIndex } from "../webhook-destination/destination-index.ts";
import type { DestinationGates, DestinationSide } from "../webhook-destination/destination-side.ts";
import { DestinationPublications, destinationPublisher } from "../webhook-destination/publications.ts";
import { DestinationReconciler } from "../webhook-destination/reconciler.ts";
import { Children } from "./children/children.ts";
import { HostReconciler } from "./exposure/host-reconciler.ts";
import { hostKey } from "./exposure/ingress.ts";
import { GatewayObservations } from "./observing/gateway-observations.ts";
import { connectWatches } from "./watching/mappings.ts";
import type { Observations, Operator } from "./operator.ts";
import { Publications } from "./publishing/publications.ts";
import { routePublisher } from "./publishing/route-publisher.ts";
import { Stamps } from "../publishing/stamps.ts";
import { type RedisAccess, RedisAccessReconciler } from "./custody/redis-access.ts";
import { RouteReconciler } from "./route/reconciler.ts";
import { ensureReleaseKey } from "./publishing/release-key.ts";
import { SigningRings } from "./publishing/rings.ts";
import { RouteIndex } from "./watching/route-index.ts";
import { ServingGateways } from "./publishing/serving.ts";
import { type ShelfKeeper, ShelfReconciler } from "./custody/shelf-reconciler.ts";
import { Sweep } from "./children/sweep.ts";
import { TenantSecrets } from "./publishing/tenant-secrets.ts";
import { LastWorked } from "./watching/last-worked.ts";
import { createWatches, type Watches } from "./watching/watches.ts";
import { ServerRestoredError } from "./watching/server-restored.ts";
import { WorkerReconciler } from "./workers/worker-reconciler.ts";

/** Every key is looked at again at least this often, ms: the net under missed events. */
const RESYNC_MS = 600_000;
/**
 * Changes come together: what depends on many routes is made so once nothing has been queued for `settleMs`, but not twice within `intervalMs`. The
 * objects of a host or of workers grow with each route, so a write for each of 1,000 would be 1,000 large writes.
 */
const RHYTHM = {
  workers: { settleMs: 100, intervalMs: 500 },
  hosts: { settleMs: 100, intervalMs: 1_000 },
  shelves: { settleMs: 500, intervalMs: 2_000 },
  access: { settleMs: 0, intervalMs: 1_000 },
} as const;

/** The config of workers grows with the WebhookDestinations of their namespace: each makes the interval longer by so much, up to ten seconds, ms. */
const WORKERS_MS_A_DESTINATION = 1;
const MAX_WORKERS_INTERVAL_MS = 10_000;

type QueueName = "routes" | "destinations" | "workers" | "hosts" | "shelves" | "access";

export interface WebhookRouteControllersOptions {
  readonly config: Config;
  /** Its writes ask the fence of the leader; reads and watches go without. */
  readonly client: KubeClient;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** Default: nothing is known beside what the API server tells. */
  readonly observations?: Observations;
  /** Default: circuits are not known, and nothing is enabled. */
  readonly gates?: DestinationGates;
  /** Default: events of deleted routes stay where they are. */
  readonly shelves?: ShelfKeeper;
  /** Only with Redis users `Provisioned`. */
  readonly redisAccess?: RedisAccess | undefined;
}

/** The controllers of WebhookRoutes and WebhookDestinations over their shared caches. */
export class WebhookRouteControllers {
  readonly operator: Operator;
  readonly watches: Watches;
  readonly #options: WebhookRouteControllersOptions;
  readonly #queues: Readonly<Record<QueueName, WorkQueue>>;
  readonly #sweep: Sweep;
  readonly #workedOn = {
    workers: new LastWorked(MAX_WORKERS_INTERVAL_MS),
    hosts: new LastWorked(RHYTHM.hosts.intervalMs),
    shelves: new LastWorked(RHYTHM.shelves.intervalMs),
    access: new LastWorked(RHYTHM.access.intervalMs),
  };
  readonly #restored = new AbortController();
  #releaseKey: Buffer | undefined;

  constructor(options: WebhookRouteControllersOptions) {
    const { config, client, metrics, logger, clock } = options;
    this.#options = options;
    const queue = (name: string) => new WorkQueue({ name, metrics });
    this.#queues = {
      routes: queue("routes"),
      destinations: queue("destinations"),
      workers: queue("workers"),
      hosts: queue("hosts"),
      shelves: queue("shelves"),
      access: queue("access"),
    };
    const onRestored = (resource: string) => this.#restored.abort(new ServerRestoredError(resource));
    this.watches = createWatches({ config, transport: client.transport, metrics, logger, onRestored });
    this.operator = this.#createOperator();
    this.#sweep = new Sweep(this.operator, { metrics, isSynced: () => this.#isSynced(), clock });
    connectWatches(this.watches, this.operator);
  }

  /** Adds caches and controllers to a manager that does not run yet. */
  register(manager: Manager): void {
    const { routes, namespaces, entries, destinations, destinationEntries, pods, leases } = this.watches;
    for (const cache of [routes, namespaces, entries, destinations, destinationEntries, pods, leases]) {
      manager.require(cache);
    }
    manager.alongside(async (signal) => {
      this.#startKindCaches(signal);
      await aborted(AbortSignal.any([signal, this.#restored.signal]));
      if (!signal.aborted) this.#restored.signal.throwIfAborted();
    });
    // A Secret or a ring that the last leader used already must not be found missing, or old.
    manager.beforeLeading(async () => {
      await Promise.all([this.watches.tenantSecrets.relist(), this.watches.rings.relist()]);
    });
    manager.whileLeading((signal) => this.#lead(signal));
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { config, client } = this.#options;
    this.#releaseKey = await ensureReleaseKey(client.resource(SECRETS), config);
    this.#queueEverything();
    const { routes, destinations, workers, hosts } = this.#queues;
    const { index } = this.operator.destinations;
    resync({ queue: destinations, keys: () => index.keys(), periodMs: RESYNC_MS }, signal);
    resync({ queue: routes, keys: () => this.operator.routes.keys(), periodMs: RESYNC_MS }, signal);
    resync({ queue: workers, keys: () => this.#sweep.scopes(), periodMs: RESYNC_MS }, signal);
    resync({ queue: hosts, keys: () => config.gateway.hosts.map(hostKey), periodMs: RESYNC_MS }, signal);
    await Promise.all([...this.#controllers().map((controller) => controller.run(signal)), this.#sweep.run(signal)]);
  }

  /** What no event of this process told of: objects of routes that went while nobody led. */
  #queueEverything(): void {
    const { enqueue, destinations } = this.operator;
    for (const key of this.operator.routes.keys()) enqueue.route(key);
    const published = [...destinations.publications.all()].flatMap(({ key }) => (key === "" ? [] : key));
    for (const key of new Set([...destinations.index.keys(), ...published])) enqueue.destination(key);
    for (const scope of this.#sweep.scopes()) enqueue.workers(scope);
    for (const host of this.#options.config.gateway.hosts) enqueue.host(hostKey(host));
    for (const namespace of this.#sweep.namespaces()) {
      enqueue.shelves(namespace);
      enqueue.access(namespace);
    }
  }

  #controllers(): Controller[] {
    const { config, shelves, redisAccess } = this.#options;
    const { concurrency } = config.controller;
    const controllers = [
      this.#controller("routes", concurrency, new RouteReconciler(this.operator)),
      this.#controller("destinations", concurrency, new DestinationReconciler(this.operator)),
      this.#controller("workers", 4, new WorkerReconciler(this.operator)),
      this.#controller("hosts", 2, new HostReconciler(this.operator)),
    ];
    if (shelves) controllers.push(this.#controller("shelves", 2, new ShelfReconciler(this.operator, shelves)));
    if (redisAccess) {
      controllers.push(this.#controller("access", 2, new RedisAccessReconciler(this.operator, redisAccess)));
    }
    return controllers;
  }

  #controller(
    name: QueueName,
    concurrency: number,
    reconciler: { reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> },
  ): Controller {
    const { metrics, logger, clock } = this.#options;
    const reconcile: Reconcile = (key, signal) => {
      if (name !== "routes" && name !== "destinations") this.#workedOn[name].note(key, clock.monotonic());
      return reconciler.reconcile(key, signal);
    };
    return new Controller({ name, queue: this.#queues[name], reconcile, concurrency, metrics, logger });
  }

  #createOperator(): Operator {
    const { config, client, clock, logger, events, observations = NOTHING_OBSERVED, shelves } = this.#options;
    const secrets = client.resource(SECRETS);
    const publications = new Publications();
    const stamps = new Stamps(clock);
    const namespace = routesNamespace(config.release);
    const { routes, destinations } = this.#queues;
    return {
      config,
      clock,
      logger,
      client,
      events,
      observations,
      publications,
      routes: new RouteIndex(),
      unreached: new Map(),
      refusedExposures: new Map(),
      otherUsers: [],
      redisAccess: this.#options.redisAccess,
      ...(shelves && {
        shelved: new Set<string>(),
        retireQueue: (home: string, route: string) => shelves.retireQueue(home, route),
      }),
      namespace: (name) => this.watches.namespaces.store.get(name),
      secrets: new TenantSecrets({ metadata: this.watches.tenantSecrets, client: secrets }),
      publisher: routePublisher({ secrets, stamps, publications, instance: config.instance, namespace }),
      destinations: this.#destinationSide(stamps),
      cleanupPolicies: new Set(),
      rings: new SigningRings({ secrets, instance: config.instance }),
      ringWatch: this.watches.rings,
      gateways: new ServingGateways(clock),
      seen: new GatewayObservations(clock),
      children: new Children({ client, caches: this.watches.children, logger }),
      releaseKey: () => this.#releaseKey ?? Buffer.alloc(0),
      enqueue: {
        route: (key) => routes.add(key),
        destination: (key) => destinations.add(key),
        workers: (key) => this.#queue("workers", key),
        host: (key) => this.#queue("hosts", key),
        shelves: (key) => this.#queue("shelves", key),
        access: (key) => (this.#options.redisAccess ? this.#queue("access", key) : undefined),
      },
    };
  }

  #destinationSide(stamps: Stamps): DestinationSide {
    const { config, client, gates } = this.#options;
    const { instance, release } = config;
    const secrets = client.resource(SECRETS);
    const publications = new DestinationPublications();
    const namespace = destinationsNamespace(release);
    return {
      index: new DestinationIndex(instance),
      publications,
      publisher: destinationPublisher({ secrets, stamps, publications, instance, namespace }),
      compiled: new CompiledDestinations(),
      gates,
    };
  }

  #queue(name: keyof typeof RHYTHM, key: string): void {
    const leftMs = this.#workedOn[name].waitMs(key, this.#options.clock.monotonic());
    const waitMs = name === "workers" ? leftMs - MAX_WORKERS_INTERVAL_MS + this.#workersIntervalMs(key) : leftMs;
    this.#queues[name].addAfter(key, Math.max(RHYTHM[name].settleMs, waitMs));
  }

  /** @param key a `scopeKey` */
  #workersIntervalMs(key: string): number {
    const destinations = this.operator.destinations.index.ofNamespace(key).length;
    return Math.min(MAX_WORKERS_INTERVAL_MS, RHYTHM.workers.intervalMs + WORKERS_MS_A_DESTINATION * destinations);
  }

  #startKindCaches(signal: AbortSignal): void {
    const { rings, tenantSecrets, children } = this.watches;
    const caches = [rings, tenantSecrets, ...[...children.values()].map(({ cache }) => cache)];
    for (const cache of caches) cache.start(signal);
    const { config } = this.#options;
    const own = config.redis.users === "Shared" ? [config.namespace] : [];
    for (const namespace of own) tenantSecrets.want(namespace);
    for (const namespace of [...own, ...config.rbac.namespaces]) {
      rings.want(namespace);
      this.operator.children.want(namespace);
    }
  }

  #isSynced(): boolean {
    const { rings, tenantSecrets, children } = this.watches;
    const caches = [rings, tenantSecrets, ...[...children.values()].map(({ cache }) => cache)];
    return caches.every(({ isSynced }) => isSynced);
  }
}

const NOTHING_OBSERVED: Observations = { of: () => ({}) };

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
