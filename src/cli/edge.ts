import { ROLLBACK_LINE } from "../custody/redis/incarnation.ts";
import { RedisStore, type RedisStoreOptions } from "../custody/redis/store.ts";
import type { RunView } from "../gateway/api/run-view.ts";
import { type ApiServer, type ApiServerOptions, createApiServer } from "../gateway/api/server.ts";
import { BacklogMonitor } from "../gateway/backlog.ts";
import { routeTable } from "../gateway/route-table.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../gateway/server.ts";
import type { Access } from "../kube/access.ts";
import { systemClock } from "../lib/clock.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import { recordStoreHealth } from "../observability/store-health.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { MatchTable, type MatchTableOptions, type TableChange } from "../routes/match-table.ts";

/** Gauges that nobody sets at an event are set this often, ms. */
const GAUGES_MS = 5_000;

/** Opens the store with its health in the metrics and its rollbacks in the log. */
export function openStore(
  options: Omit<RedisStoreOptions, "onHealth" | "onRollback">,
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
): RedisStore {
  let bad = false;
  return new RedisStore({
    ...options,
    onHealth: (health) => {
      recordStoreHealth(metrics, health);
      if (!health.up) logger.error("Redis does not answer or takes no writes");
      else if (!health.durable.ok) {
        logger.error({ problems: health.durable.problems }, "Redis does not keep what it acknowledges");
      } else if (bad) logger.info("Redis answers and keeps what it acknowledges again");
      bad = !health.up || !health.durable.ok;
    },
    onRollback: (namespace, rollback) => logger.error({ namespace, rollback }, ROLLBACK_LINE),
  });
}

export interface EdgeOptions
  extends MatchTableOptions,
    Pick<GatewayOptions, "trustedProxies" | "pods" | "ready" | "egress"> {
  readonly store: RedisStore;
  readonly instance: string;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** See `BacklogMonitorOptions`. */
  readonly showsBacklog?: () => boolean;
  /** Who may publish events through the API listener. Absent: there is no such listener. */
  readonly access?: Access | undefined;
  /** CleanupRuns, for those who ask through the API listener what became of a push. Absent: nobody can. */
  readonly runs?: RunView | undefined;
}

/** The gateway over a store: match table, limits by backlog, HTTP server. Its routes come from manifests in files or from the API server. */
export class Edge {
  readonly gateway: Gateway;
  /** Events from inside. */
  readonly api: ApiServer | undefined;
  readonly #options: EdgeOptions;
  readonly #table: MatchTable;
  readonly #backlog: BacklogMonitor;
  #gauges: NodeJS.Timeout | undefined;

  constructor(options: EdgeOptions) {
    const { store, instance, metrics, logger, trustedProxies, pods, ready, egress, showsBacklog } = options;
    this.#options = options;
    this.#table = new MatchTable(options);
    this.#backlog = new BacklogMonitor({
      ledgerFor: (namespace) => store.ledger({ instance, namespace }),
      metrics,
      ...(showsBacklog && { shows: showsBacklog }),
    });
    const shared = {
      inboxFor: (namespace: string) => store.inbox({ instance, namespace }),
      clock: systemClock,
      metrics,
      logger,
    };
    this.gateway = createGateway({
      ...shared,
      table: routeTable(this.#table, systemClock),
      health: () => store.health(),
      backlog: (route) => this.#backlog.of(route),
      ...(trustedProxies && { trustedProxies }),
      ...(pods && { pods }),
      ...(ready && { ready }),
      ...(egress && { egress }),
    });
    this.api = this.#apiServer(shared);
  }

  #apiServer(shared: Pick<ApiServerOptions, "inboxFor" | "clock" | "metrics" | "logger">): ApiServer | undefined {
    const { access, runs, ready, store, instance } = this.#options;
    if (access === undefined) return undefined;
    const ledgerFor = (namespace: string) => store.ledger({ instance, namespace });
    return createApiServer({
      ...shared,
      access,
      door: this.gateway.inside,
      ready: () => ready?.().ok ?? true,
      cleanup: runs && { runs, ledgerFor },
    });
  }

  /** Looks at backlogs and gauges from now on. Listening is the caller's, as are the store's start and end. */
  start(): void {
    const { store, metrics } = this.#options;
    this.#backlog.start();
    this.#gauges = setInterval(() => recordStoreHealth(metrics, store.health()), GAUGES_MS);
    this.#gauges.unref();
  }

  /** Serves these entries and no others from now on. */
  replace(entries: readonly RouteEntry[]): void {
    this.#table.replace(entries, systemClock.now());
    this.gateway.update(entries);
    this.watchBacklog(entries);
  }

  /** Serves what differs; {@link watchBacklog} is told of all entries now and then. */
  change(change: TableChange): void {
    this.#table.apply(change, systemClock.now());
    this.gateway.change(change);
  }

  watchBacklog(entries: readonly RouteEntry[]): void {
    this.#backlog.update(entries);
  }

  /** Not ready any more; requests are still taken, and their connections closed. */
  drain(): void {
    this.gateway.drain();
    this.api?.drain();
  }

  /** Finishes what is in flight, at most `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    await Promise.all([this.gateway.close(graceMs), this.api?.close(graceMs)]);
    this.#backlog.stop();
    clearInterval(this.#gauges);
  }
}
