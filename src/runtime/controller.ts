import { isConflict, retryAfterOf } from "../kube/errors.ts";
import { NotLeaderError } from "../kube/fence.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import type { KubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import type { Logger } from "../observability/logger.ts";
import { OUTCOMES, ReconcileTimeoutError, TerminalError, type Outcome, type Reconcile } from "./reconcile.ts";
import type { WorkQueue } from "./work-queue.ts";

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_DRAIN_MS = 10_000;
/** A reconcile that ignores its signal keeps its worker for this long after it, ms. */
const OVERDUE_MS = 5_000;

/** One controller: a queue of keys and what to do about each. */
export interface ControllerOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly reconcile: Reconcile;
  readonly metrics: Pick<KubernetesMetrics, "reconciles" | "reconcileDuration" | "activeReconciles">;
  readonly logger: Logger;
  /** Workers; default 4. */
  readonly concurrency?: number;
  /** For one reconcile, ms; default 60,000. */
  readonly timeoutMs?: number;
  /** What runs when the controller stops may go on for this long, ms; default 10,000. */
  readonly drainMs?: number;
  readonly timers?: Timers;
}

interface Ended {
  readonly outcome: Outcome;
  readonly requeueAfterMs?: number | undefined;
  readonly error?: unknown;
}

/** Takes keys from a queue and reconciles them, several at a time, never one key twice at a time. */
export class Controller {
  readonly name: string;
  readonly queue: WorkQueue;
  readonly #options: ControllerOptions;
  readonly #timers: Timers;

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.queue = options.queue;
    this.#options = options;
    this.#timers = options.timers ?? systemTimers;
    const { metrics, name: controller } = options;
    for (const result of OUTCOMES) metrics.reconciles.inc({ controller, result }, 0);
    metrics.reconcileDuration.zero({ controller });
    metrics.activeReconciles.set({ controller }, 0);
  }

  /** Works until the signal fires, then lets what runs finish for `drainMs` and aborts the rest. The queue is closed afterwards. */
  async run(signal: AbortSignal): Promise<void> {
    const hardStop = new AbortController();
    const stop = () => {
      this.queue.close();
      this.#timers.after(this.#options.drainMs ?? DEFAULT_DRAIN_MS, () => hardStop.abort());
    };
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    const workers = Array.from({ length: this.#options.concurrency ?? 4 }, () => this.#work(hardStop.signal));
    await Promise.all(workers);
    signal.removeEventListener("abort", stop);
  }

  async #work(hardStop: AbortSignal): Promise<void> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a worker does one key after the other
      const key = await this.queue.get();
      if (key === undefined) return;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#one(key, hardStop);
    }
  }

  /** One key. Resolves when its reconcile ended, or when it is so long overdue that the worker goes on without it; the key stays taken until it ends. */
  async #one(key: string, hardStop: AbortSignal): Promise<void> {
    const deadline = new AbortController();
    const signal = AbortSignal.any([hardStop, deadline.signal]);
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const cancel = this.#timers.after(timeoutMs, () => {
      deadline.abort(new ReconcileTimeoutError(`reconcile of ${key} took longer than ${timeoutMs} ms`));
    });
    let forgetOverdue: (() => void) | undefined;
    const overdue = new Promise<"overdue">((resolve) => {
      const wait = () => {
        forgetOverdue = this.#timers.after(OVERDUE_MS, () => resolve("overdue"));
      };
      if (signal.aborted) wait();
      else signal.addEventListener("abort", wait, { once: true });
    });
    if ((await Promise.race([this.#reconcile(key, signal), overdue])) === "overdue") {
      this.#options.logger.error({ controller: this.name, key }, "reconcile ignores that it has to end");
    }
    cancel();
    forgetOverdue?.();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { metrics, reconcile } = this.#options;
    const began = this.#timers.monotonic();
    metrics.activeReconciles.inc({ controller: this.name });
    let ended: Ended;
    try {
      const result = await reconcile(key, signal);
      const requeueAfterMs = result?.requeueAfterMs;
      ended = { outcome: requeueAfterMs === undefined ? "success" : "requeue_after", requeueAfterMs };
    } catch (error) {
      ended = { outcome: outcomeOf(error), error };
    }
    metrics.activeReconciles.dec({ controller: this.name });
    metrics.reconciles.inc({ controller: this.name, result: ended.outcome });
    metrics.reconcileDuration.observe({ controller: this.name }, (this.#timers.monotonic() - began) / 1_000);
    this.#requeue(key, ended);
    this.queue.done(key);
  }

  #requeue(key: string, { outcome, requeueAfterMs, error }: Ended): void {
    const { logger } = this.#options;
    const context = { controller: this.name, key };
    if (error === undefined || outcome === "terminal_error") {
      this.queue.forget(key);
      if (outcome === "terminal_error") logger.warn({ ...context, err: error }, "reconcile cannot succeed as it is");
      if (requeueAfterMs !== undefined) this.queue.addAfter(key, Math.max(1, requeueAfterMs));
      return;
    }
    this.queue.addRateLimited(key, retryAfterOf(error));
    if (outcome === "requeue_after") logger.debug({ ...context, err: error }, "reconcile again");
    else logger.warn({ ...context, err: error, failures: this.queue.failures(key) }, "reconcile failed");
  }
}

/** A conflict is everyday: somebody was faster, and the next look sees what they wrote. So is a term that ended. */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof TerminalError) return "terminal_error";
  return isConflict(error) || error instanceof NotLeaderError ? "requeue_after" : "error";
}
