import type { ReconcileResult } from "../../../runtime/reconcile.ts";

/**
 * Workers of one route are gone for certain this long after their Deployment, ms: its Pods have 75 s to end, and those who write tickets believe for 10 s
 * more that they are there.
 */
const AFTER_MS = 90_000;

export interface QueueRetirementOptions {
  /** Removes the tickets of a route's own workers; those still needed are written anew for others. */
  readonly retire: (namespace: string, route: string) => Promise<void>;
  /** ms of the monotonic clock. */
  readonly now: () => number;
  readonly afterMs?: number;
}

/** A route without workers of its own, whose queue nobody serves. */
interface Unserved {
  /** Key of the workers. */
  readonly key: string;
  readonly namespace: string;
  /** Route key. */
  readonly route: string;
}

/**
 * Clears the ticket queues of workers that are gone. Only those that were seen to go: nothing depends on it, as what is due gets a ticket where there
 * are workers; what stays behind takes up memory of Redis and no more.
 */
export class QueueRetirement {
  readonly #options: QueueRetirementOptions;
  /** Key of the workers → when they were first missed; `undefined`: their queue was cleared. */
  readonly #missed = new Map<string, number | undefined>();

  constructor(options: QueueRetirementOptions) {
    this.#options = options;
  }

  /** Workers are there, or about to be. */
  present(key: string): void {
    this.#missed.delete(key);
  }

  /**
   * Workers are not there and not wanted. To be called again when the result says so.
   * @throws as the store
   */
  async missing({ key, namespace, route }: Unserved): Promise<ReconcileResult> {
    const { now, retire, afterMs = AFTER_MS } = this.#options;
    if (!this.#missed.has(key)) this.#missed.set(key, now());
    const since = this.#missed.get(key);
    if (since === undefined) return {};
    const leftMs = since + afterMs - now();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    await retire(namespace, route);
    this.#missed.set(key, undefined);
    return {};
  }
}
