import { systemClock, type Clock } from "./clock.ts";

/** A clock that can also wait. Injected wherever something happens later, so that tests decide when. */
export interface Timers extends Clock {
  /**
   * Calls `callback` once after `ms` (0 or less: as soon as possible; more than 24.8 days: after 24.8 days, the longest a Node timer lasts).
   * @param keepsAlive whether the process waits for it before it ends by itself; default false
   * @returns cancels it; harmless afterwards
   */
  after(ms: number, callback: () => void, keepsAlive?: boolean): () => void;
}

const LONGEST_MS = 2 ** 31 - 1;

/** The machine's own clocks and timers. */
export const systemTimers: Timers = {
  ...systemClock,
  after: (ms, callback, keepsAlive = false) => {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), LONGEST_MS));
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`, or until the signal fires; the process stays alive meanwhile. Never rejects: whoever waits looks at the signal. */
export function sleep(timers: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const wake = () => {
      cancel();
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const cancel = timers.after(ms, wake, true);
    signal?.addEventListener("abort", wake, { once: true });
  });
}
