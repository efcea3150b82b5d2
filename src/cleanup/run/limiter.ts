import { sleep, type Timers } from "../../lib/timers.ts";
import { StoreError } from "../store/port.ts";
import { SilenceWatch } from "./silence.ts";

export interface StoreLimiterOptions {
  readonly timers: Timers;
  /** Calls side by side at most. Default: 32. */
  readonly most?: number;
  readonly random?: () => number;
  /** Told of every call that failed. */
  readonly onError?: (code: string) => void;
  /** Told when calls are under way and none is answered, see {@link SilenceWatch}. */
  readonly onSilence?: () => void;
}

/** Tries of a call that the store is too busy for, and of one that failed otherwise but may succeed. */
const SLOWDOWN_TRIES = 8;
const OTHER_TRIES = 3;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
const FIRST_GAP_MS = 50;
const LONGEST_GAP_MS = 5_000;
/** By so much the gap between calls shrinks with each that succeeds. */
const GAP_STEP_MS = 5;

/**
 * Lets calls of a store through as fast as it bears: more side by side with each that succeeds, half as many with each `SlowDown`, and a growing gap between them when one at a
 * time is still too much (additive increase, multiplicative decrease). After a `SlowDown` none begins for a while. Repeats what may succeed, a bounded number of times.
 */
export class StoreLimiter {
  readonly #options: StoreLimiterOptions;
  readonly #most: number;
  readonly #silence: SilenceWatch;
  #window: number;
  #gap = 0;
  #refusals = 0;
  /** Monotonic ms: no call begins before it. */
  #opensAt = 0;
  /** Calls that began before the last decrease do not decrease it again: they were sent at the old pace. */
  #era = 0;
  #inFlight = 0;
  readonly #waiting = new Set<() => void>();
  /** Signals that wake all: one listener for each of thousands of calls costs more than the calls. */
  readonly #watched = new WeakSet<AbortSignal>();

  constructor(options: StoreLimiterOptions) {
    this.#options = options;
    this.#most = options.most ?? 32;
    this.#silence = new SilenceWatch(options.timers, () => options.onSilence?.());
    this.#window = this.#most;
  }

  /** Calls of {@link runMany} that may be under way now. */
  get window(): number {
    return Math.floor(this.#window);
  }

  /**
   * Makes a call, and again while that may help. For calls that are made one at a time: they do not wait for a place.
   * @param call may throw what is no StoreError: that is never repeated
   */
  run<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    return this.#repeat(signal, call, () => this.#open(signal));
  }

  /** The same for calls of which there are many side by side. */
  runMany<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const leave = () => {
      this.#inFlight -= 1;
      this.#wake(this.window - this.#inFlight);
    };
    return this.#repeat(
      signal,
      async () => {
        try {
          return await call();
        } finally {
          leave();
        }
      },
      () => this.#enter(signal),
    );
  }

  async #repeat<T>(signal: AbortSignal, call: () => Promise<T>, enter: () => Promise<void>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      await enter();
      const era = this.#era;
      try {
        const result = await this.#silence.over(call);
        this.#succeeded();
        return result;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        this.#options.onError?.(error.code);
        if (error.code === "SlowDown") this.#slow(era);
        if (!mayRepeat(error, tries) || signal.aborted) throw error;
        if (error.code !== "SlowDown") await sleep(this.#options.timers, FIRST_PAUSE_MS * 2 ** (tries - 1), signal);
      }
    }
  }

  /** The store was too busy for a part of a call. */
  slowDown(): void {
    this.#slow(this.#era);
  }

  /** Waits for a place among many. */
  async #enter(signal: AbortSignal): Promise<void> {
    await this.#open(signal);
    while (this.#inFlight >= this.window) {
      await this.#place(signal);
      await this.#open(signal);
    }
    this.#inFlight += 1;
  }

  /** Waits until a call may begin. */
  async #open(signal: AbortSignal): Promise<void> {
    const { timers } = this.#options;
    for (;;) {
      if (signal.aborted) throw signal.reason;
      const wait = this.#opensAt - timers.monotonic();
      if (wait <= 0) break;
      await sleep(timers, wait, signal);
    }
    if (this.#gap > 0) this.#opensAt = timers.monotonic() + this.#gap;
  }

  #place(signal: AbortSignal): Promise<void> {
    if (!this.#watched.has(signal)) {
      this.#watched.add(signal);
      signal.addEventListener("abort", () => this.#wake(this.#waiting.size), { once: true });
    }
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
    });
  }

  /** Has as many that wait look again whether there is a place. */
  #wake(most: number): void {
    for (let left = most; left > 0; left -= 1) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      next();
    }
  }

  #succeeded(): void {
    this.#refusals = 0;
    if (this.#gap > 0) this.#gap = Math.max(0, this.#gap - GAP_STEP_MS);
    else this.#window = Math.min(this.#most, this.#window + 1 / this.#window);
  }

  #slow(era: number): void {
    if (era !== this.#era) return;
    this.#era += 1;
    if (this.#window > 1) this.#window = Math.max(1, this.#window / 2);
    else this.#gap = Math.min(LONGEST_GAP_MS, Math.max(FIRST_GAP_MS, this.#gap * 2));
    const { random = Math.random } = this.#options;
    this.#pause(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#refusals) * (0.5 + random() / 2));
    this.#refusals += 1;
  }

  #pause(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, this.#options.timers.monotonic() + ms);
  }
}

function mayRepeat({ code, retryable }: StoreError, tries: number): boolean {
  return retryable && tries < (code === "SlowDown" ? SLOWDOWN_TRIES : OTHER_TRIES);
}
