import { systemTimers, type Timers } from "../lib/timers.ts";
import type { KubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import { KeyBackoff } from "./backoff.ts";

/** What a queue needs. */
export interface WorkQueueOptions {
  /** Label of its metrics; usually the controller's name. */
  readonly name: string;
  readonly metrics: Pick<KubernetesMetrics, "queueDepth" | "queueAdds" | "queueRetries" | "queueWait" | "queueWork">;
  readonly backoff?: KeyBackoff;
  readonly timers?: Timers;
}

/** Below this many taken keys the list is not worth copying. */
const COMPACT_AT = 1_024;

/**
 * client-go's work queue (https://pkg.go.dev/k8s.io/client-go/util/workqueue): a key waits at most once, is handed to one worker at a time, and is handed
 * out again if it was added while somebody worked on it.
 */
export class WorkQueue {
  readonly #name: string;
  readonly #metrics: WorkQueueOptions["metrics"];
  readonly #backoff: KeyBackoff;
  readonly #timers: Timers;
  /** Keys in order from `#head` on: `shift()` of a long array is O(n), and so is the first value of a Set that lost many. */
  #ready: string[] = [];
  #head = 0;
  /** Keys that wait or have to wait again, with the time they were added (monotonic ms). */
  readonly #dirty = new Map<string, number>();
  /** Keys being worked on, with the time that began. */
  readonly #processing = new Map<string, number>();
  readonly #delayed = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #waiters: ((key: string | undefined) => void)[] = [];
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#name = options.name;
    this.#metrics = options.metrics;
    this.#backoff = options.backoff ?? new KeyBackoff();
    this.#timers = options.timers ?? systemTimers;
    this.#metrics.queueAdds.inc({ name: this.#name }, 0);
    this.#metrics.queueRetries.inc({ name: this.#name }, 0);
    this.#metrics.queueWait.zero({ name: this.#name });
    this.#metrics.queueWork.zero({ name: this.#name });
    this.#gauge();
  }

  /** Adds a key, if it does not wait already. */
  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#timers.monotonic());
    this.#metrics.queueAdds.inc({ name: this.#name });
    if (!this.#processing.has(key)) this.#push(key);
  }

  /** Adds a key after `ms`; of several delays of one key the earliest holds. */
  addAfter(key: string, ms: number): void {
    if (this.#closed) return;
    if (ms <= 0) return this.add(key);
    const at = this.#timers.monotonic() + ms;
    const pending = this.#delayed.get(key);
    if (pending && pending.at <= at) return;
    pending?.cancel();
    const cancel = this.#timers.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { at, cancel });
  }

  /** Adds a key after its backoff, but not before `atLeastMs`. */
  addRateLimited(key: string, atLeastMs = 0): void {
    this.#metrics.queueRetries.inc({ name: this.#name });
    this.addAfter(key, Math.max(atLeastMs, this.#backoff.next(key)));
  }

  /** Ends the key's backoff. */
  forget(key: string): void {
    this.#backoff.forget(key);
  }

  /** Failures of the key in a row. */
  failures(key: string): number {
    return this.#backoff.failures(key);
  }

  /** The next key, to be given back by {@link done}. Resolves `undefined` once the queue is closed. */
  get(): Promise<string | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const key = this.#shift();
    if (key === undefined) return new Promise((resolve) => this.#waiters.push(resolve));
    this.#take(key);
    return Promise.resolve(key);
  }

  /** The worker is through with the key. */
  done(key: string): void {
    const began = this.#processing.get(key);
    if (began === undefined) return;
    this.#processing.delete(key);
    this.#metrics.queueWork.observe({ name: this.#name }, (this.#timers.monotonic() - began) / 1_000);
    if (this.#dirty.has(key) && !this.#closed) this.#push(key);
  }

  /** Drops what waits and ends every `get`; keys being worked on stay until `done`. */
  close(): void {
    this.#closed = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#dirty.clear();
    this.#ready = [];
    this.#head = 0;
    this.#gauge();
    for (const waiter of this.#waiters.splice(0)) waiter(undefined);
  }

  /** Keys that wait and may be handed out. */
  get depth(): number {
    return this.#ready.length - this.#head;
  }

  /** Keys being worked on. */
  get active(): number {
    return this.#processing.size;
  }

  #shift(): string | undefined {
    const key = this.#ready[this.#head];
    if (key === undefined) return undefined;
    this.#head += 1;
    if (this.#head > COMPACT_AT && this.#head * 2 > this.#ready.length) {
      this.#ready = this.#ready.slice(this.#head);
      this.#head = 0;
    }
    this.#gauge();
    return key;
  }

  #take(key: string): void {
    const now = this.#timers.monotonic();
    this.#metrics.queueWait.observe({ name: this.#name }, (now - (this.#dirty.get(key) ?? now)) / 1_000);
    this.#dirty.delete(key);
    this.#processing.set(key, now);
  }

  #push(key: string): void {
    const waiter = this.#waiters.shift();
    if (!waiter) {
      this.#ready.push(key);
      return this.#gauge();
    }
    this.#take(key);
    waiter(key);
  }

  #gauge(): void {
    this.#metrics.queueDepth.set({ name: this.#name }, this.depth);
  }
}
