import type { Server } from "node:http";
import { createDestinationListener } from "../../console/destination-listener.ts";
import { type Console, createConsole } from "../../console/server.ts";
import type { Ledger } from "../../custody/port.ts";
import type { RedisStore } from "../../custody/redis/store.ts";
import { workerDestinations } from "../../delivery/worker-destinations.ts";
import type { RunStart } from "../../api/run-start.ts";
import type { Attempt } from "../../delivery/attempt.ts";
import { attemptByTarget } from "../../delivery/attempt-by-target.ts";
import { createCleanupAttempt } from "../../delivery/cleanup-attempt.ts";
import { createHttpAttempt } from "../../delivery/http-attempt.ts";
import { NamespaceWorker } from "../../delivery/namespace-worker.ts";
import { EgressGuard } from "../../egress/guard.ts";
import { HttpSender } from "../../egress/http-sender.ts";
import { TokenAccess } from "../../kube/access.ts";
import { listen, portOf } from "../../lib/listen.ts";
import type { Secret } from "../../lib/secret.ts";
import { createAdminServer } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import { createMetrics } from "../../observability/metrics.ts";
import { recordStoreHealth } from "../../observability/store-health.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { CommandError } from "../command.ts";
import { consoleCustody } from "../console-custody.ts";
import { Edge, openStore } from "../edge.ts";
import { DevCleanups } from "./cleanup/dev-cleanups.ts";
import { DevRunners } from "./cleanup/runners.ts";
import type { Compilation } from "./compilation.ts";
import { DevConsoleDirectory } from "./console-directory.ts";
import type { DevDestination } from "./destinations.ts";
import { logNotices } from "./destination-notices.ts";
import { keepDevShelves, type ShelfNews } from "./shelves.ts";

export interface ChainOptions {
  /** The data directory. */
  readonly dir: string;
  readonly redisUrl: string;
  readonly instance: string;
  /** 0: the system chooses. */
  readonly port: number;
  readonly adminPort: number;
  readonly apiPort: number;
  /** Whoever has it may publish events through the API listener. */
  readonly apiToken: Secret;
  readonly consolePort: number;
  /** Whoever has it may do all that the operations API offers. */
  readonly consoleToken: Secret;
  /** Of the listener for holders of tokens of WebhookDestinations. `undefined`: none. */
  readonly destinationPort?: number | undefined;
  readonly logger: Logger;
}

/** On a laptop, destinations run beside Davit. */
const LOOPBACK = ["127.0.0.0/8", "::1"];

/** Time for requests in flight at the gateway and at destinations, ms. */
const GATEWAY_GRACE_MS = 5_000;
const WORKER_GRACE_MS = 65_000;

const GAUGES_MS = 5_000;

/** Gateway, workers and admin port in one process, over one Redis: what is several Deployments in a cluster. */
export class Chain {
  readonly metrics = createMetrics();
  /** Names of what is served, for the console. */
  readonly directory = new DevConsoleDirectory();
  readonly #options: ChainOptions;
  readonly #store: RedisStore;
  readonly #edge: Edge;
  readonly #console: Console;
  readonly #holders: Console | undefined;
  readonly #admin: Server;
  readonly #cleanups: DevCleanups;
  readonly #runners: DevRunners;
  readonly #guard = new EgressGuard({ allow: LOOPBACK });
  readonly #sender = new HttpSender({ guard: this.#guard });
  readonly #attempt: Attempt;
  #entries: readonly RouteEntry[] = [];
  readonly #stopping = new AbortController();
  #gauges: NodeJS.Timeout | undefined;
  /** One per namespace that has or had routes. */
  readonly #workers = new Map<string, NamespaceWorker>();

  constructor(options: ChainOptions) {
    const { metrics } = this;
    const { logger, instance } = options;
    this.#options = options;
    this.#store = openStore({ url: options.redisUrl }, { metrics, logger });
    this.#cleanups = new DevCleanups({ dir: options.dir, instance, logger });
    this.#runners = new DevRunners({ cleanups: this.#cleanups, logger, metrics });
    this.#edge = new Edge({
      store: this.#store,
      runs: this.#cleanups,
      instance,
      metrics,
      logger,
      ignoreHost: true,
      egress: this.#guard,
      access: new TokenAccess(options.apiToken, "davit-dev"),
    });
    const start = (run: RunStart) => this.#cleanups.start(run);
    this.#attempt = attemptByTarget({
      http: createHttpAttempt(this.#sender),
      cleanup: createCleanupAttempt({ start, metrics, logger }),
    });
    const around = { directory: this.directory, custody: consoleCustody(this.#store, instance), logger, metrics };
    this.#console = createConsole({ ...around, access: new TokenAccess(options.consoleToken, "davit-dev") });
    this.#holders = options.destinationPort === undefined ? undefined : createDestinationListener(around);
    this.#admin = createAdminServer(metrics.registry, () => this.#edge.gateway.readiness());
  }

  /** Base URLs once {@link start} has resolved. */
  get urls(): Readonly<Record<"gateway" | "admin" | "api" | "console", string>> {
    const { gateway, api } = this.#edge;
    return {
      gateway: urlOf(gateway.server),
      admin: urlOf(this.#admin),
      api: api === undefined ? "" : urlOf(api.server),
      console: urlOf(this.#console.server),
    };
  }

  /** Base URL of the listener for holders; `undefined` when there is none. */
  get destinationUrl(): string | undefined {
    return this.#holders && urlOf(this.#holders.server);
  }

  /**
   * Takes the ports and starts to look at the store. Requests are answered 404 until {@link apply}.
   * @throws CommandError, ListenError when a port is taken; call {@link stop} then too
   */
  async start(): Promise<void> {
    const health = await this.#store.start();
    recordStoreHealth(this.metrics, health);
    if (!health.up) throw new CommandError("Redis does not answer: check --redis-url");
    if (!health.durable.ok) {
      throw new CommandError(`Redis does not keep what it acknowledges: ${health.durable.problems.join("; ")}`);
    }
    await listen(this.#admin, onLoopback(this.#options.adminPort, "--admin-port"));
    // On loopback, as all of them: its token is as good as the right to publish into every route.
    if (this.#edge.api) await listen(this.#edge.api.server, onLoopback(this.#options.apiPort, "--api-port"));
    await listen(this.#console.server, onLoopback(this.#options.consolePort, "--console-port"));
    const { destinationPort = 0 } = this.#options;
    if (this.#holders) await listen(this.#holders.server, onLoopback(destinationPort, "--destination-port"));
    await listen(this.#edge.gateway.server, onLoopback(this.#options.port, "--port"));
    this.#edge.start();
    this.#gauges = setInterval(() => this.#showOverlaps(), GAUGES_MS);
  }

  /** Serves these entries and no others from now on. Events that are queued go by them from their next attempt. */
  async apply(entries: readonly RouteEntry[], destinations: readonly DevDestination[] = []): Promise<void> {
    this.#edge.replace(entries);
    this.directory.update(entries, destinations);
    this.#entries = entries;
    this.#showRoutes();
    this.#showOverlaps();
    const namespaces = new Set([...this.#workers.keys(), ...entries.map(({ namespace }) => namespace)]);
    for (const namespace of namespaces) {
      const shared = destinations.filter((one) => one.namespace === namespace).map(({ entry }) => entry);
      const configuration = workerDestinations(
        entries.filter((entry) => entry.namespace === namespace),
        // What the manifests say now is what holds: a destination that is not in them does not exist.
        { destinations: shared, isLive: () => true },
      );
      const running = this.#workers.get(namespace);
      if (running === undefined) await this.#startWorker(namespace, configuration);
      else running.update(configuration);
    }
  }

  /** Goes by these CleanupPolicies, with these Secrets, from now on. */
  async cleanup(policies: Compilation["policies"], secrets: Compilation["secrets"]): Promise<void> {
    this.#cleanups.update(policies);
    await this.#runners.update(policies, secrets);
  }

  /** Events of removed routes go on their shelves, those of the others are taken up. */
  async shelve(entries: ReadonlyMap<string, RouteEntry>, removed: ReadonlyMap<string, RouteEntry>): Promise<ShelfNews> {
    const { instance } = this.#options;
    const shelvesOf = (namespace: string) => this.#store.shelves(this.#scope(namespace));
    const namespaces = await this.#store.namespacesWithShelves(instance);
    return keepDevShelves({ instance, entries, removed, namespaces, shelvesOf });
  }

  ledger(namespace: string): Ledger {
    return this.#store.ledger(this.#scope(namespace));
  }

  /**
   * In the order of an event's way: nothing comes in any more, what is under way is finished or handed back, then the store is let go.
   * @param lost aborted when the store is gone for good: then no worker can settle what it has, and none is waited for
   */
  async stop(lost?: AbortSignal): Promise<void> {
    await Promise.all([
      this.#edge.stop(GATEWAY_GRACE_MS),
      this.#console.close(GATEWAY_GRACE_MS),
      this.#holders?.close(GATEWAY_GRACE_MS),
    ]);
    clearInterval(this.#gauges);
    this.#stopping.abort();
    const workers = [...this.#workers.values()].map((worker) => worker.stop());
    await Promise.race([Promise.all(workers), giveUp(lost)]);
    await this.#runners.stop();
    this.#cleanups.stop();
    await this.#sender.close();
    this.#store.close();
    this.#admin.close();
    this.#admin.closeAllConnections();
  }

  #scope(namespace: string) {
    return { instance: this.#options.instance, namespace };
  }

  async #startWorker(namespace: string, destinations: ReturnType<typeof workerDestinations>): Promise<void> {
    const worker = new NamespaceWorker({
      store: this.#store,
      scope: this.#scope(namespace),
      attempt: this.#attempt,
      noticeSender: this.#sender,
      destinations,
      logger: this.#options.logger,
      metrics: this.metrics,
    });
    this.#workers.set(namespace, worker);
    const { metrics } = this;
    const { logger } = this.#options;
    void logNotices({ store: this.#store, scope: this.#scope(namespace), logger, metrics }, this.#stopping.signal);
    await worker.start();
  }

  #showRoutes(): void {
    const { routeInfo } = this.metrics;
    routeInfo.reset();
    for (const { namespace, name: route, verification, dedupe } of this.#entries) {
      const scheme = verification.type === "provider" ? verification.provider : verification.type;
      routeInfo.set({ namespace, route, verification: scheme, dedupe: dedupeName(dedupe) }, 1);
    }
  }

  #showOverlaps(): void {
    const { secretOverlapRemaining } = this.metrics;
    secretOverlapRemaining.reset();
    for (const { namespace, name: route, keys } of this.#entries) {
      const ends = keys.filter(({ state }) => state === "previous").map(({ notAfter = 0 }) => notAfter);
      const left = Math.max(0, ...ends.map((end) => (end - Date.now()) / 1_000));
      secretOverlapRemaining.set({ namespace, route }, left);
    }
  }
}

function dedupeName({ disabled, sources }: RouteEntry["dedupe"]): string {
  if (disabled) return "none";
  return sources.length > 0 ? "id" : "weak";
}

/** Resolves when there is no more sense in waiting for workers. */
function giveUp(lost: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (lost?.aborted) resolve();
    lost?.addEventListener("abort", () => resolve(), { once: true });
    setTimeout(resolve, WORKER_GRACE_MS).unref();
  });
}

function onLoopback(port: number, flag: string) {
  return { port, address: "127.0.0.1", remedy: `choose another with ${flag} (0: any free one)` };
}

function urlOf(server: Server): string {
  const port = portOf(server);
  return port === 0 ? "" : `http://127.0.0.1:${port}`;
}
