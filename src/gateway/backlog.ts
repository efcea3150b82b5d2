import { idOfDestination } from "../api/names.ts";
import { GATE_STATES } from "../custody/gate.ts";
import type { Backlog, Backlogs } from "../custody/backlog.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { usesDestinations } from "../routes/shared-copies.ts";
import { SharedBacklogWatch } from "./shared-backlogs.ts";

export interface BacklogMonitorOptions {
  readonly ledgerFor: (namespace: string) => Backlogs;
  readonly metrics: Metrics;
  /** Whether the gauges are this process's to export, asked at each look: of several that look, one does. Default: yes. */
  readonly shows?: () => boolean;
  /** Time between looks, ms. Default 1,000. */
  readonly intervalMs?: number;
  /** A round over the WebhookDestinations of a namespace begins this long after the last one, ms. Default 5,000. */
  readonly sharedRoundMs?: number;
  /** Hears of each route's figures at each look, with those of the WebhookDestinations that it sends to. */
  readonly onLook?: (entry: RouteEntry, sum: Backlog) => void;
}

/** Destinations asked for in one script. */
const PAGE = 500;

/** Pages of WebhookDestinations that are looked at in a second. */
const PAGES_A_SECOND = 1;
const INTERVAL_MS = 1_000;
const STATES = ["waiting", "active", "delayed", "dead"] as const;

/**
 * Looks at what lies in custody per route: for the limit `maxBacklog`, and for the gauges, which so survive that no worker runs. A WebhookDestination does not tell
 * the routes its copies came from apart: to each of them counts all that lies for it, and to a route whose events choose it all that lies for WebhookDestinations
 * in the namespace. In the gauges these have an empty `route`, so that nothing is in a sum twice.
 */
export class BacklogMonitor {
  readonly #options: BacklogMonitorOptions;
  #routes: readonly RouteEntry[] = [];
  /** The same, to look one up. */
  #known: ReadonlySet<RouteEntry> = new Set();
  #byRoute = new Map<string, number>();
  /** By namespace: those with routes that send to WebhookDestinations. */
  readonly #shared = new Map<string, SharedBacklogWatch>();
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
    const namespaces = new Set(routes.filter(usesDestinations).map(({ namespace }) => namespace));
    for (const namespace of this.#shared.keys()) if (!namespaces.has(namespace)) this.#forgetShared(namespace);
    for (const namespace of namespaces)
      if (!this.#shared.has(namespace)) this.#shared.set(namespace, this.#watch(namespace));
  }

  /** Events of a route that are not final yet, as last seen. */
  of(route: string): number {
    return this.#byRoute.get(route) ?? 0;
  }

  start(): void {
    const again = async (): Promise<void> => {
      await this.look();
      if (this.#timer !== undefined)
        this.#timer = setTimeout(() => void again(), this.#options.intervalMs ?? INTERVAL_MS);
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
    await Promise.all([...this.#shared].map(([namespace, watch]) => this.#lookAtShared(namespace, watch)));
    const byRoute = new Map<string, number>();
    for (const [namespace, entries] of byNamespace(routes)) {
      const ids = entries.flatMap(({ destinations }) => destinations.map(({ id }) => id));
      const stats = await this.#stats(namespace, ids).catch(() => undefined);
      for (const entry of entries) {
        const own = stats && entry.destinations.flatMap(({ id }) => stats.get(id) ?? []);
        const sum = own && add([...own, ...this.#sharedOf(entry)]);
        byRoute.set(entry.route, sum ? sum.waiting + sum.active + sum.delayed : this.of(entry.route));
        // Not for a route that went while we asked: its series would stay for ever.
        if (own === undefined || sum === undefined || !this.#known.has(entry)) continue;
        this.#showRoute(entry, add(own), stats);
        this.#options.onLook?.(entry, sum);
      }
    }
    this.#byRoute = byRoute;
  }

  #decideWhoShows(): void {
    const shows = this.#options.shows?.() ?? true;
    if (this.#shows && !shows) {
      for (const entry of this.#routes) this.#forget(entry);
      for (const namespace of this.#shared.keys()) this.#hide({ namespace, name: "" });
    }
    this.#shows = shows;
  }

  #watch(namespace: string): SharedBacklogWatch {
    const { ledgerFor, sharedRoundMs } = this.#options;
    return new SharedBacklogWatch({
      ledger: ledgerFor(namespace),
      now: () => performance.now(),
      ...(sharedRoundMs !== undefined && { roundMs: sharedRoundMs }),
    });
  }

  async #lookAtShared(namespace: string, watch: SharedBacklogWatch): Promise<void> {
    const pages = Math.ceil((PAGES_A_SECOND * (this.#options.intervalMs ?? INTERVAL_MS)) / 1_000);
    const isSeen = await watch.look(pages).then(
      () => true,
      () => false,
    );
    // Not of a namespace that went while we asked.
    if (isSeen && this.#shows && this.#shared.get(namespace) === watch) {
      this.#show({ namespace, name: "" }, add(watch.all));
    }
  }

  #sharedOf(entry: RouteEntry): readonly Backlog[] {
    const watch = usesDestinations(entry) ? this.#shared.get(entry.namespace) : undefined;
    if (watch === undefined) return [];
    return entry.sharedCopies === undefined ? watch.all : watch.of(entry.sharedCopies.map(({ id }) => id));
  }

  #forgetShared(namespace: string): void {
    this.#shared.delete(namespace);
    this.#hide({ namespace, name: "" });
  }

  async #stats(namespace: string, ids: readonly string[]): Promise<ReadonlyMap<string, Backlog>> {
    const ledger = this.#options.ledgerFor(namespace);
    const all = new Map<string, Backlog>();
    for (let at = 0; at < ids.length; at += PAGE) {
      for (const [id, backlog] of await ledger.stats(ids.slice(at, at + PAGE))) all.set(id, backlog);
    }
    return all;
  }

  #showRoute(entry: RouteEntry, own: Backlog, stats: ReadonlyMap<string, Backlog> | undefined): void {
    if (!this.#shows) return;
    this.#showDestinations(entry, stats);
    this.#show(entry, own);
  }

  #show({ namespace, name: route }: Shown, sum: Backlog): void {
    const { queueEvents, queueOldestAge } = this.#options.metrics;
    for (const state of STATES) queueEvents.set({ namespace, route, state }, sum[state]);
    queueOldestAge.set({ namespace, route, state: "waiting" }, sum.oldestWaitingSeconds);
    queueOldestAge.set({ namespace, route, state: "delayed" }, sum.oldestDelayedSeconds);
  }

  #showDestinations(entry: RouteEntry, stats: ReadonlyMap<string, Backlog> | undefined): void {
    const { destinationWaiting, destinationCircuitState } = this.#options.metrics;
    for (const { id, labels } of destinationsOf(entry)) {
      const { waiting = 0, delayed = 0, gate = "Closed" } = stats?.get(id) ?? {};
      destinationWaiting.set(labels, waiting + delayed);
      destinationCircuitState.set(labels, GATE_STATES.indexOf(gate));
    }
  }

  #forget(entry: RouteEntry): void {
    const { destinationWaiting, destinationCircuitState } = this.#options.metrics;
    for (const { labels } of destinationsOf(entry)) {
      destinationWaiting.remove(labels);
      destinationCircuitState.remove(labels);
    }
    this.#hide(entry);
  }

  #hide({ namespace, name: route }: Shown): void {
    const { queueEvents, queueOldestAge } = this.#options.metrics;
    for (const state of STATES) {
      queueEvents.remove({ namespace, route, state });
      queueOldestAge.remove({ namespace, route, state });
    }
  }
}

/** Whose copies a series counts: a route's inline destinations, or without a name the namespace's WebhookDestinations. */
type Shown = Pick<RouteEntry, "namespace" | "name">;

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
