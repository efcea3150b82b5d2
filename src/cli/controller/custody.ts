import type { Config } from "../../config/schema.ts";
import { BacklogReports } from "../../controllers/webhook-route/custody/backlog-reports.ts";
import type { BacklogLook } from "../../controllers/webhook-route/custody/backlog-state.ts";
import type { Observations, Operator } from "../../controllers/webhook-route/operator.ts";
import { entryIn } from "../../controllers/webhook-route/publishing/publications.ts";
import type { ShelfKeeper, ShelfRound } from "../../controllers/webhook-route/custody/shelf-reconciler.ts";
import { keepShelves, type ShelvesReport } from "../../custody/keep-shelves.ts";
import type { Backlog } from "../../custody/backlog.ts";
import type { RedisStore } from "../../custody/redis/store.ts";
import { NotLeaderError } from "../../kube/fence.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import { BacklogMonitor } from "../../gateway/backlog.ts";
import { sleep, systemTimers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { ForerunnerEvents } from "./forerunner-events.ts";
import { tellPurge } from "./purge-report.ts";
import { QueueWatch } from "./queue-watch.ts";
import { Scale } from "./scale.ts";

/** Backlogs are looked at this often, ms. */
const BACKLOG_MS = 5_000;
/** Numbers of backlogs are given to statuses this often, ms, a few at a time. */
const REPORT_MS = 1_000;
/** Attempts that still run when their route is shelved end within their timeout: looked at again after this long, ms. */
const ACTIVE_AGAIN_MS = 5_000;
/** Shelves that wait for their end are looked at this often, ms. */
const SHELVES_AGAIN_MS = 600_000;

export interface CustodyOptions {
  readonly config: Config;
  readonly store: RedisStore;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly isLeader: () => boolean;
  readonly events: Pick<EventRecorder, "record">;
}

/** What the controller has to do with Redis: backlogs, shelves of deleted routes, and whether it answers. The rest of it works without. */
export class Custody implements Observations, ShelfKeeper {
  readonly #options: CustodyOptions;
  readonly #backlog: BacklogMonitor;
  readonly #scale: Scale;
  readonly #orphans = new Map<string, readonly { readonly namespace: string; readonly route: string }[]>();
  #operator: Operator | undefined;
  #reports: BacklogReports | undefined;
  readonly #forerunners = new ForerunnerEvents();
  readonly #queue = new QueueWatch(systemTimers.now());

  constructor(options: CustodyOptions) {
    const { store, config, metrics } = options;
    this.#options = options;
    const ledgerFor = (namespace: string) => store.ledger({ instance: config.instance, namespace });
    this.#scale = new Scale({
      ledgerFor,
      entries: (namespace) => this.#entries(namespace),
      now: () => systemTimers.monotonic(),
    });
    this.#backlog = new BacklogMonitor({
      ledgerFor,
      metrics,
      intervalMs: BACKLOG_MS,
      onLook: (entry, sum) => this.#reports?.note(entry, lookOf(entry, sum)),
    });
  }

  /** Where it looks up which routes there are. */
  follow(operator: Operator): void {
    this.#operator = operator;
    this.#reports = new BacklogReports(operator, systemTimers);
  }

  of(route: string): ReturnType<Observations["of"]> {
    const backlog = this.#reports?.of(route);
    return { queue: this.#queue.state, ...(backlog === undefined ? {} : { backlog }) };
  }

  /** Exports backlogs and watches over Redis until the signal fires. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#backlog.start();
    await Promise.all([
      every(BACKLOG_MS, signal, () => this.#look()),
      every(REPORT_MS, signal, () => this.#reports?.release()),
      this.#lookAtShelves(signal),
    ]);
    this.#backlog.update([]);
    this.#backlog.stop();
    // The next leader shows them.
    for (const labels of [...this.#orphans.values()].flat()) this.#options.metrics.orphanedEvents.remove(labels);
  }

  async keep(round: ShelfRound, signal: AbortSignal): Promise<number | undefined> {
    const { store, config, isLeader } = this.#options;
    const { namespace, live, deleted, purge } = round;
    const report = await keepShelves(store.shelves({ instance: config.instance, namespace }), {
      live,
      deleted,
      purgeNow: purge,
      retentionMs: config.controller.orphanRetentionMs,
      mayWrite: () => isLeader() && !signal.aborted,
    });
    // A round that was cut short has not done all that was asked.
    signal.throwIfAborted();
    if (!isLeader()) throw new NotLeaderError();
    this.#show(namespace, report);
    if (this.#operator !== undefined) this.#forerunners.tell(this.#operator, namespace, report.orphans);
    for (const one of report.purged) tellPurge(this.#options, { ...one, namespace, isAsked: purge.has(one.route) });
    if (report.active.length > 0) return ACTIVE_AGAIN_MS;
    return report.orphans.length > 0 || deleted.length > 0 ? SHELVES_AGAIN_MS : undefined;
  }

  async retireQueue(namespace: string, route: string): Promise<void> {
    const { store, config, isLeader } = this.#options;
    if (isLeader()) await store.retireTickets({ instance: config.instance, namespace }, route);
  }

  /** `/v1/scale/<namespace>/<shared|route>`: the work that waits for these workers, for an autoscaler. */
  scale(path: string): Promise<{ readonly status: number; readonly body: object } | undefined> {
    return this.#scale.answer(path);
  }

  #entries(namespace?: string): RouteEntry[] {
    const { publications } = this.#operator ?? {};
    if (publications === undefined) return [];
    const secrets = namespace === undefined ? [...publications.all()] : publications.inNamespace(namespace);
    return secrets.flatMap((secret) => entryIn(secret) ?? []);
  }

  #look(): void {
    const entries = this.#entries();
    this.#backlog.update(entries);
    this.#reports?.keepOnly(new Set(entries.map(({ route }) => route)));
    if (this.#queue.note(this.#options.store.health().up, systemTimers.now())) this.#lookAtAll();
  }

  /** Those of namespaces that no cache knows any more, once the store says which they are. */
  async #lookAtShelves(signal: AbortSignal): Promise<void> {
    const { store, config } = this.#options;
    while (!signal.aborted) {
      const namespaces = await store.namespacesWithShelves(config.instance).catch(() => undefined);
      for (const namespace of namespaces ?? []) this.#operator?.enqueue.shelves(namespace);
      if (namespaces !== undefined) return;
      await sleep(systemTimers, BACKLOG_MS, signal);
    }
  }

  #lookAtAll(): void {
    const { routes, enqueue } = this.#operator ?? {};
    for (const key of routes?.keys() ?? []) enqueue?.route(key);
  }

  #show(namespace: string, { orphans, shelved, unshelved }: ShelvesReport): void {
    const { metrics, logger } = this.#options;
    for (const labels of this.#orphans.get(namespace) ?? []) metrics.orphanedEvents.remove(labels);
    const shown = orphans.map(({ name, route }) => ({ namespace, route: name || route }));
    for (const labels of shown) metrics.orphanedEvents.set(labels, 0);
    // A namespace that was made anew may have had a route of the same name before.
    for (const { name, route, events } of orphans)
      metrics.orphanedEvents.inc({ namespace, route: name || route }, events);
    this.#orphans.set(namespace, shown);
    if (shelved > 0) logger.info({ namespace, copies: shelved }, "events of deleted routes were put on their shelf");
    if (unshelved > 0) logger.info({ namespace, copies: unshelved }, "events were taken up again: their route is back");
  }
}

function lookOf({ suspend }: RouteEntry, sum: Backlog): Omit<BacklogLook, "at"> {
  return {
    waiting: sum.waiting + sum.active + sum.delayed,
    deadLetters: sum.dead,
    oldestSeconds: Math.max(sum.oldestWaitingSeconds, sum.oldestDelayedSeconds),
    deliveredSecondsAgo: sum.deliveredSecondsAgo,
    isSuspended: suspend === "Delivery" || suspend === "All",
  };
}

/** Does something at once and then again and again, until the signal fires. */
async function every(ms: number, signal: AbortSignal, doIt: () => void): Promise<void> {
  while (!signal.aborted) {
    doIt();
    await sleep(systemTimers, ms, signal);
  }
}
