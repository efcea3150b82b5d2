import { Reflector } from "../../kube/reflector.ts";
import { Controller } from "../../runtime/controller.ts";
import type { Manager } from "../../runtime/manager.ts";
import { resync } from "../../runtime/resync.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { LastWorked } from "../webhook-route/watching/last-worked.ts";
import { ServerRestoredError } from "../webhook-route/watching/server-restored.ts";
import { reflectorOptions, type Watches } from "../webhook-route/watching/watches.ts";
import { CleanupIndex } from "./cleanup-index.ts";
import type { CleanupContext } from "./context.ts";
import { CleanupPolicyReconciler } from "./reconciler.ts";
import { showCleanup } from "./state-metrics.ts";
import { CLEANUP_POLICIES, CLEANUP_RUNS, type PolicyObject, type RunObject } from "../../api/cleanup-resources.ts";
import { connectCleanup } from "./watches.ts";

/** Every policy is looked at again at least this often, ms: the net under missed events, and what time alone changes. */
const RESYNC_MS = 600_000;
/** Runs of many scopes come and end together: a policy is looked at once nothing new came for `settleMs`, but not twice within `intervalMs`. */
const RHYTHM = { settleMs: 50, intervalMs: 250 } as const;
/** Policies at a time. */
const CONCURRENCY = 4;

export interface CleanupPolicyControllersOptions {
  /** What the controllers of the process share. Its client's writes ask the fence of the leader. */
  readonly operator: Operator;
  readonly watches: Watches;
  readonly metrics: Metrics;
  /** Runs that end are counted by whoever leads. */
  readonly isLeader: () => boolean;
}

/** The controller of CleanupPolicies and their runs, over caches of its own and those of the other controllers. */
export class CleanupPolicyControllers {
  readonly #options: CleanupPolicyControllersOptions;
  readonly #index: CleanupIndex;
  readonly #policies: Reflector<PolicyObject>;
  readonly #runs: Reflector<RunObject>;
  readonly #queue: WorkQueue;
  readonly #workedOn = new LastWorked(RHYTHM.intervalMs);
  readonly #restored = new AbortController();
  readonly #context: CleanupContext;

  constructor(options: CleanupPolicyControllersOptions) {
    const { operator, watches, metrics, isLeader } = options;
    const { config, logger, client, clock } = operator;
    this.#options = options;
    this.#index = new CleanupIndex(clock);
    this.#queue = new WorkQueue({ name: "cleanup", metrics });
    const onRestored = (resource: string) => this.#restored.abort(new ServerRestoredError(resource));
    const watching = { config, transport: client.transport, metrics, logger, onRestored };
    this.#policies = new Reflector(reflectorOptions(watching, { type: CLEANUP_POLICIES }));
    this.#runs = new Reflector(reflectorOptions(watching, { type: CLEANUP_RUNS }));
    this.#context = {
      ...operator,
      index: this.#index,
      metrics,
      isLeader,
      enqueue: (key) => this.#enqueue(key),
    };
    connectCleanup({ policies: this.#policies, runs: this.#runs }, { operator, watches }, this.#context);
  }

  /** Adds caches and the controller to a manager that does not run yet. */
  register(manager: Manager): void {
    for (const cache of [this.#policies, this.#runs]) manager.require(cache);
    manager.alongside(async (signal) => {
      await aborted(AbortSignal.any([signal, this.#restored.signal]));
      if (!signal.aborted) this.#restored.signal.throwIfAborted();
    });
    manager.whileLeading((signal) => this.#lead(signal));
  }

  /** Sets the gauges from the caches, for one scrape. */
  show(): void {
    const { metrics, operator, isLeader } = this.#options;
    showCleanup(this.#index, metrics, { isLeader: isLeader(), now: operator.clock.now() });
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { metrics, operator } = this.#options;
    const { clock, logger } = operator;
    const reconciler = new CleanupPolicyReconciler(this.#context);
    for (const key of this.#index.keys()) this.#queue.add(key);
    resync({ queue: this.#queue, keys: () => this.#index.keys(), periodMs: RESYNC_MS }, signal);
    const controller = new Controller({
      name: "cleanup",
      queue: this.#queue,
      reconcile: (key, ending) => {
        this.#workedOn.note(key, clock.monotonic());
        return reconciler.reconcile(key, ending);
      },
      concurrency: CONCURRENCY,
      metrics,
      logger,
    });
    await controller.run(signal);
  }

  #enqueue(key: string): void {
    const waitMs = this.#workedOn.waitMs(key, this.#options.operator.clock.monotonic());
    this.#queue.addAfter(key, Math.max(RHYTHM.settleMs, waitMs));
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
