import { systemTimers, type Timers } from "../lib/timers.ts";
import type { WorkQueue } from "./work-queue.ts";

/** What is looked at again, and how often. */
export interface ResyncOptions {
  readonly queue: WorkQueue;
  /** The keys that exist now; usually a reflector's `store.keys()`. */
  readonly keys: () => Iterable<string>;
  readonly periodMs: number;
  readonly timers?: Timers;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** Queues every existing key once a period, spread over it, until the signal fires: the safety net under missed events. */
export function resync(options: ResyncOptions, signal: AbortSignal): void {
  const { queue, keys, periodMs, timers = systemTimers, random = Math.random } = options;
  let cancel: (() => void) | undefined;
  const round = () => {
    for (const key of keys()) queue.addAfter(key, 1 + random() * periodMs * 0.9);
    cancel = timers.after(periodMs, round);
  };
  if (signal.aborted) return;
  cancel = timers.after(periodMs, round);
  signal.addEventListener("abort", () => cancel?.(), { once: true });
}
