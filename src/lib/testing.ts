import type { Timers } from "./timers.ts";

interface Waiting {
  readonly at: number;
  readonly callback: () => void;
}

/** Time that stands still until a test moves it. The monotonic clock begins at 0, the wall clock at a date of its own. */
export class ManualTimers implements Timers {
  #elapsed = 0;
  /** Added to the wall clock only: what setting the clock does. */
  wallOffset = Date.parse("2030-01-01T00:00:00Z");
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return this.wallOffset + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, callback: () => void): () => void {
    const waiting = { at: this.#elapsed + Math.max(0, ms), callback };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Moves time, firing what is due in order, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one timer after the other
      await settle();
      const [next] = [...this.#waiting].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (!next) break;
      this.#elapsed = Math.max(this.#elapsed, next.at);
      this.#waiting.delete(next);
      next.callback();
    }
    this.#elapsed = end;
    await settle();
  }

  /** Moves time without firing anything, as for a process that is stopped. */
  stall(ms: number): void {
    this.#elapsed += ms;
  }
}

/** Lets everything that waits only for promises go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
