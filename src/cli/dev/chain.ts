import type { Server } from "node:http";
import type { Ledger } from "../../custody/port.ts";
import { ROLLBACK_LINE } from "../../custody/redis/incarnation.ts";
import { RedisStore } from "../../custody/redis/store.ts";
import { workerDestinations } from "../../delivery/destinations.ts";
import { createHttpAttempt } from "../../delivery/http-attempt.ts";
import { Worker } from "../../delivery/worker.ts";
import { HttpSender } from "../../egress/http-sender.ts";
import { BacklogMonitor } from "../../gateway/backlog.ts";
import { routeTable } from "../../gateway/route-table.ts";
import { createGateway, type Gateway } from "../../gateway/server.ts";
import { systemClock } from "../../lib/clock.ts";
import { createAdminServer } from "../../observability/http.ts";
import type { Logger } from "../../observability/logger.ts";
import { createMetrics } from "../../observability/metrics.ts";
import { recordStoreHealth } from "../../observability/store-health.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { MatchTable } from "../../routes/match-table.ts";
import { CommandError } from "../command.ts";

export interface ChainOptions {
  readonly redisUrl: string;
  readonly instance: string;
  /** 0: the system chooses. */
  readonly port: number;
  readonly adminPort: number;
  readonly logger: Logger;
}

/** Time for requests in flight at the gateway and at destinations, ms. */
const GATEWAY_GRACE_MS = 5_000;
const WORKER_GRACE_MS = 65_000;

const GAUGES_MS = 5_000;

/** Gateway, workers and admin port in one process, over one Redis: what is several Deployments in a cluster. */
export class Chain {
  readonly metrics = createMetrics();
  readonly #options: ChainOptions;
  readonly #store: RedisStore;
  readonly #table = new MatchTable({ ignoreHost: true });
  readonly #backlog: BacklogMonitor;
  readonly #gateway: Gateway;
  readonly #admin: Server;
  readonly #sender = new HttpSender();
  /** One per namespace that has or had routes, with what it was last told. */
  #entries: readonly RouteEntry[] = [];
  #gauges: NodeJS.Timeout | undefined;
  readonly #workers = new Map<string, { worker: Worker; destinations: ReturnType<typeof workerDestinations> }>();

  constructor(options: ChainOptions) {
    const { metrics } = this;
    this.#options = options;
    this.#store = new RedisStore({
      url: options.redisUrl,
      onHealth: (health) => recordStoreHealth(metrics, health),
      onRollback: (namespace, rollback) => options.logger.error({ namespace, rollback }, ROLLBACK_LINE),
    });
    this.#backlog = new BacklogMonitor({ ledgerFor: (namespace) => this.ledger(namespace), metrics });
    this.#gateway = createGateway({
      table: routeTable(this.#table, systemClock),
      inboxFor: (namespace) => this.#store.inbox(this.#scope(namespace)),
      health: () => this.#store.health(),
      clock: systemClock,
      metrics,
      logger: options.logger,
      backlog: (route) => this.#backlog.of(route),
    });
    this.#admin = createAdminServer(metrics.registry, () => this.#gateway.readiness());
  }

  /** Base URLs once {@link start} has resolved. */
  get urls(): { readonly gateway: string; readonly admin: string } {
    return { gateway: urlOf(this.#gateway.server), admin: urlOf(this.#admin) };
  }

  /**
   * Takes the ports and starts to look at the store. Requests are answered 404 until {@link apply}.
   * @throws CommandError when a port is taken; call {@link stop} then too
   */
  async start(): Promise<void> {
    const health = await this.#store.start();
    recordStoreHealth(this.metrics, health);
    if (!health.up) throw new CommandError("Redis does not answer: check --redis-url");
    if (!health.durable.ok) {
      throw new CommandError(`Redis does not keep what it acknowledges: ${health.durable.problems.join("; ")}`);
    }
    await listen(this.#admin, this.#options.adminPort, "--admin-port");
    await listen(this.#gateway.server, this.#options.port, "--port");
    this.#backlog.start();
    this.#gauges = setInterval(() => this.#showOverlaps(), GAUGES_MS);
  }

  /** Serves these entries and no others from now on. Events that are queued go by them from their next attempt. */
  async apply(entries: readonly RouteEntry[]): Promise<void> {
    this.#table.replace(entries, Date.now());
    this.#gateway.update(entries);
    this.#backlog.update(entries);
    this.#entries = entries;
    this.#showRoutes();
    this.#showOverlaps();
    const namespaces = new Set([...this.#workers.keys(), ...entries.map(({ namespace }) => namespace)]);
    for (const namespace of namespaces) {
      const destinations = workerDestinations(entries.filter((entry) => entry.namespace === namespace));
      const running = this.#workers.get(namespace);
      if (running === undefined) await this.#startWorker(namespace, destinations);
      else {
        running.destinations = destinations;
        running.worker.update(destinations);
      }
    }
  }

  ledger(namespace: string): Ledger {
    return this.#store.ledger(this.#scope(namespace));
  }

  /**
   * In the order of an event's way: nothing comes in any more, what is under way is finished or handed back, then the store is let go.
   * @param lost aborted when the store is gone for good: then no worker can settle what it has, and none is waited for
   */
  async stop(lost?: AbortSignal): Promise<void> {
    await this.#gateway.close(GATEWAY_GRACE_MS);
    this.#backlog.stop();
    clearInterval(this.#gauges);
    const workers = [...this.#workers.values()].map(({ worker }) => worker.stop());
    await Promise.race([Promise.all(workers), giveUp(lost)]);
    await this.#sender.close();
    this.#store.close();
    this.#admin.close();
    this.#admin.closeAllConnections();
  }

  #scope(namespace: string) {
    return { instance: this.#options.instance, namespace };
  }

  async #startWorker(namespace: string, destinations: ReturnType<typeof workerDestinations>): Promise<void> {
    const state = { destinations };
    const outbox = this.#store.outbox(this.#scope(namespace), {
      policies: () => [...state.destinations.values()].map(({ policy }) => policy.policy),
    });
    const worker = new Worker({
      outbox,
      attempt: createHttpAttempt(this.#sender),
      destinations,
      logger: this.#options.logger,
      metrics: this.metrics,
    });
    this.#workers.set(namespace, Object.assign(state, { worker }));
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

/** Listens on loopback. @throws CommandError that names the flag */
function listen(server: Server, port: number, flag: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const why = error.code === "EADDRINUSE" ? "is in use" : `cannot be used (${error.code ?? "unknown error"})`;
      reject(new CommandError(`port ${port} ${why}: choose another with ${flag} (0: any free one)`));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
}

function urlOf(server: Server): string {
  const address = server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
}
