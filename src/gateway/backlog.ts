import { idOfDestination } from "../api/names.ts";
import { GATE_STATES } from "../custody/gate.ts";
import type { Backlog, Ledger } from "../custody/port.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";

export interface BacklogMonitorOptions {
  readonly ledgerFor: (namespace: string) => Pick<Ledger, "stats">;
  readonly metrics: Metrics;
  /** Whether the gauges are this process's to export, asked at each look: of several that look, one does. Default: yes. */
  readonly shows?: () => boolean;
  /** Time between looks, ms. Default 1,000. */
  readonly intervalMs?: number;
  /** Hears of each route's figures at each look. */
  readonly onLook?: (entry: RouteEntry, sum: Backlog) => void;
}

/** Destinations asked for in one script. */
const PAGE = 500;

/** Looks at what lies in custody per route: for the limit `maxBacklog`, and for the gauges, which so survive that no worker runs. */
export class BacklogMonitor {
  readonly #options: BacklogMonitorOptions;
  #routes: readonly RouteEntry[] = [];
  /** The same, to look one up. */
  #known: ReadonlySet<RouteEntry> = new Set();
  #byRoute = new Map<string, number>();
  #shows = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BacklogMonitorOptions) {
    this.#options = options;
  }

  /** Looks at these routes from now on; series of routes that are gone go. */
  update(routes: readonly RouteEntry[]): void {
    const names = new Set(routes.map(nameOf));
    for (const entry of this.#routes) if (!names.has(nameOf(entry))) this.#forget(entry);
    this.#routes = routes;
    this.#known = new Set(routes);
  }

  /** Events of a route that are not final yet, as last seen. */
  of(route: string): number {
    return this.#byRoute.get(route) ?? 0;
  }

  start(): void {
    const again = async (): Promise<void> => {
      await this.look();
      if (this.#timer !== undefined) this.#timer = setTimeout(() => void again(), this.#options.intervalMs ?? 1_000);
    };
    this.#timer = setTimeout(() => void again(), 0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** One look. While the store does not answer, the last figures stand; `davit_redis_up` says so. */
  async look(): Promise<void> {
    const routes = this.#routes;
    this.#decideWhoShows();
    const byRoute = new Map<string, number>();
    for (const [namespace, entries] of byNamespace(routes)) {
      const ids = entries.flatMap(({ destinations }) => destinations.map(({ id }) => id));
      const stats = await this.#stats(namespace, ids).catch(() => undefined);
      for (const entry of entries) {
        const sum = stats && add(entry.destinations.flatMap(({ id }) => stats.get(id) ?? []));
        byRoute.set(entry.route, sum ? sum.waiting + sum.active + sum.delayed : this.of(entry.route));
        // Not for a route that went while we asked: its series would stay for ever.
        if (stats === undefined || sum === undefined || !this.#known.has(entry)) continue;
        if (this.#shows) this.#show(entry, sum, stats);
        this.#options.onLook?.(entry, sum);
      }
    }
    this.#byRoute = byRoute;
  }

  #decideWhoShows(): void {
    const shows = this.#options.shows?.() ?? true;
    if (this.#shows && !shows) for (const entry of this.#routes) this.#forget(entry);
    this.#shows = shows;
  }

  async #stats(namespace: string, ids: readonly string[]): Promise<ReadonlyMap<string, Backlog>> {
    const ledger = this.#options.ledgerFor(namespace);
    const all = new Map<string, Backlog>();
    for (let at = 0; at < ids.length; at += PAGE) {
      for (const [id, backlog] of await ledger.stats(ids.slice(at, at + PAGE))) all.set(id, backlog);
    }
    return all;
  }

  #show(entry: RouteEntry, sum: Backlog, stats: ReadonlyMap<string, Backlog>): void {
    this.#showDestinations(entry, stats);
    const { namespace, name: route } = entry;
    const { queueEvents, queueOldestAge } = this.#options.metrics;
    for (const state of ["waiting", "active", "delayed", "dead"] as const) {
      queueEvents.set({ namespace, route, state }, sum[state]);
    }
    queueOldestAge.set({ namespace, route, state: "waiting" }, sum.oldestWaitingSeconds);
    queueOldestAge.set({ namespace, route, state: "delayed" }, sum.oldestDelayedSeconds);
  }

  #showDestinations(entry: RouteEntry, stats: ReadonlyMap<string, Backlog>): void {
    const { destinationWaiting, destinationCircuitState } = this.#options.metrics;
    for (const { id, labels } of destinationsOf(entry)) {
      const { waiting = 0, delayed = 0, gate = "Closed" } = stats.get(id) ?? {};
      destinationWaiting.set(labels, waiting + delayed);
      destinationCircuitState.set(labels, GATE_STATES.indexOf(gate));
    }
  }

  #forget(entry: RouteEntry): void {
    const { namespace, name: route } = entry;
    const { destinationWaiting, destinationCircuitState } = this.#options.metrics;
    for (const { labels } of destinationsOf(entry)) {
      destinationWaiting.remove(labels);
      destinationCircuitState.remove(labels);
    }
    const { queueEvents, queueOldestAge } = this.#options.metrics;
    for (const state of ["waiting", "active", "delayed", "dead"]) {
      queueEvents.remove({ namespace, route, state });
      queueOldestAge.remove({ namespace, route, state });
    }
  }
}

/** A destination that routes share belongs to none of them: its series have an empty `route`. */
function destinationsOf({ namespace, name, destinations }: RouteEntry) {
  return destinations.map(({ id, name: inline }) => {
    const shared = idOfDestination(id);
    return { id, labels: { namespace, route: shared === undefined ? name : "", destination: shared ?? inline } };
  });
}

function add(all: readonly Backlog[]): Backlog {
  const sum = { waiting: 0, active: 0, delayed: 0, dead: 0, oldestWaitingSeconds: 0, oldestDelayedSeconds: 0 };
  for (const one of all) {
    sum.waiting += one.waiting;
    sum.active += one.active;
    sum.delayed += one.delayed;
    sum.dead += one.dead;
    sum.oldestWaitingSeconds = Math.max(sum.oldestWaitingSeconds, one.oldestWaitingSeconds);
    sum.oldestDelayedSeconds = Math.max(sum.oldestDelayedSeconds, one.oldestDelayedSeconds);
  }
  const deliveries = all.flatMap(({ deliveredSecondsAgo }) => deliveredSecondsAgo ?? []);
  return deliveries.length === 0 ? sum : { ...sum, deliveredSecondsAgo: Math.min(...deliveries) };
}

function byNamespace(routes: readonly RouteEntry[]): ReadonlyMap<string, RouteEntry[]> {
  const groups = new Map<string, RouteEntry[]>();
  for (const entry of routes) {
    const group = groups.get(entry.namespace);
    if (group === undefined) groups.set(entry.namespace, [entry]);
    else group.push(entry);
  }
  return groups;
}

function nameOf({ namespace, name }: RouteEntry): string {
  return `${namespace}/${name}`;
}
