import type { LeaderElector } from "../kube/leader-elector.ts";
import type { Clock } from "../lib/clock.ts";
import { systemClock } from "../lib/clock.ts";
import type { Readiness } from "../observability/http.ts";
import type { Logger } from "../observability/logger.ts";
import { readinessOf, type Watched } from "./health.ts";

/** Something that runs until its signal fires. Ending earlier is a failure only if it throws. */
export type Runnable = (signal: AbortSignal) => Promise<void>;

/** A cache that the manager keeps warm: a `Reflector`. */
export interface Cache extends Watched {
  readonly synced: Promise<void>;
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
    const stopped = new Promise<void>((resolve) => {
      if (stop.aborted) resolve();
      stop.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([stopped, Promise.all([...this.#required].map(({ synced }) => synced))]);
  }

  async #lead(stop: AbortSignal): Promise<void> {
    const { elector, logger } = this.#options;
    const controllers = async (signal: AbortSignal) => {
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
