import type { LeaderElector } from "../kube/leader-elector.ts";
import type { Clock } from "../lib/clock.ts";
import { systemClock } from "../lib/clock.ts";
import type { Readiness } from "../observability/http.ts";
import type { Logger } from "../observability/logger.ts";
import { sleep, systemTimers } from "../lib/timers.ts";
import { readinessOf, type Watched } from "./health.ts";

/** A cache whose list is refused at the start of a term is asked for again after this long, ms. */
const REFUSED_DELAY_MS = 1_000;

/** Something that runs until its signal fires. Ending earlier is a failure only if it throws. */
export type Runnable = (signal: AbortSignal) => Promise<void>;

/** A cache that the manager keeps warm: a `Reflector`. */
export interface Cache extends Watched {
  readonly synced: Promise<void>;
  /** Resolves when a list that began after this call is in, or was refused (with the refusal). */
  relist(): Promise<string | undefined>;
  run(signal: AbortSignal): Promise<void>;
}

export interface ManagerOptions {
  readonly logger: Logger;
  /** Without one, this process leads from the start. */
  readonly elector?: LeaderElector;
  readonly clock?: Clock;
}

/**
 * Runs a process's caches and controllers: starts the caches, waits until the required ones are full, is elected, and runs the controllers while it leads.
 * Those that wait for election keep their caches warm and their queues filled, so that a successor works at once.
 */
export class Manager {
  readonly #options: ManagerOptions;
  readonly #required = new Set<Cache>();
  readonly #background: Runnable[] = [];
  readonly #preparing: Runnable[] = [];
  readonly #leading: Runnable[] = [];
  readonly #stopCaches = new AbortController();
  readonly #failed = new AbortController();
  readonly #running: Promise<void>[] = [];
  #started = false;

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /** A cache that has to be full before anything is reconciled, and fresh for readiness. Before `run` only. */
  require(cache: Cache): void {
    this.#required.add(cache);
    this.alongside((signal) => cache.run(signal));
  }

  /** Runs beside the caches, leading or not, and is waited for by nobody: an optional kind's watch, a poll. May be added while running. */
  alongside(run: Runnable): void {
    if (this.#started) this.#start(run);
    else this.#background.push(run);
  }

  /** Runs to its end at the start of a term, after the election and before anything that leads. Before `run` only. */
  beforeLeading(run: Runnable): void {
    this.#preparing.push(run);
  }

  /** Runs only while this process leads: `manager.whileLeading((signal) => controller.run(signal))`. Before `run` only. */
  whileLeading(run: Runnable): void {
    this.#leading.push(run);
  }

  /** Whether the required caches are full and fresh. Leading or not does not matter: a follower is ready to take over. */
  readiness(): Readiness {
    return readinessOf(this.#required, this.#options.clock ?? systemClock);
  }

  /**
   * Runs until the signal fires; controllers then drain while the lease is still held, then caches stop.
   * @throws LeadershipLostError when the lease is lost: the process should end; else whatever one of the runnables threw
   */
  async run(signal: AbortSignal): Promise<void> {
    this.#started = true;
    for (const run of this.#background) this.#start(run);
    const stop = AbortSignal.any([signal, this.#failed.signal]);
    try {
      await this.#filled(stop);
      if (!stop.aborted) await this.#lead(stop);
    } finally {
      this.#stopCaches.abort();
      await Promise.all(this.#running);
    }
    if (this.#failed.signal.aborted) throw this.#failed.signal.reason;
  }

  async #filled(stop: AbortSignal): Promise<void> {
    await Promise.race([aborted(stop), Promise.all([...this.#required].map(({ synced }) => synced))]);
  }

  /**
   * What another leader wrote must be known before this one decides anything: a watch may be half-open for minutes while the Lease is won. Without an
   * elector nobody led before.
   */
  async #freshen(signal: AbortSignal): Promise<void> {
    const caches = [...this.#required].map((cache) => relisted(cache, signal));
    const others = this.#preparing.map((run) => this.#guarded(run, signal));
    await Promise.race([aborted(signal), Promise.all([...caches, ...others])]);
  }

  async #lead(stop: AbortSignal): Promise<void> {
    const { elector, logger } = this.#options;
    const controllers = async (signal: AbortSignal) => {
      if (elector) await this.#freshen(signal);
      if (signal.aborted) return;
      logger.info({}, "leading: controllers start");
      await Promise.all(this.#leading.map((run) => this.#guarded(run, signal)));
    };
    await (elector ? elector.run(stop, controllers) : controllers(stop));
  }

  #start(run: Runnable): void {
    this.#running.push(this.#guarded(run, this.#stopCaches.signal));
  }

  /** Never rejects: a failure stops everything and is thrown by `run`. */
  async #guarded(run: Runnable, signal: AbortSignal): Promise<void> {
    try {
      await run(signal);
    } catch (error) {
      if (!signal.aborted) this.#failed.abort(error);
    }
  }
}

async function relisted(cache: Cache, signal: AbortSignal): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- one attempt after the other; failures that pass are retried in the cache
  while ((await cache.relist()) !== undefined && !signal.aborted) await sleep(systemTimers, REFUSED_DELAY_MS, signal);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
