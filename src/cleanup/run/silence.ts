import type { Timers } from "../../lib/timers.ts";

/** A store that serves its calls is expected to answer one of them within this, ms. */
export const SILENT_AFTER_MS = 5_000;

/** Notices long before a call has failed that its store does not answer: calls are under way, and none has been answered for {@link SILENT_AFTER_MS}. */
export class SilenceWatch {
  readonly #timers: Timers;
  readonly #onSilence: () => void;
  #underWay = 0;
  /** Monotonic ms of the last answer. */
  #answeredAt = 0;
  /** One timer for all calls: they are many. */
  #cancel: () => void = () => undefined;

  constructor(timers: Timers, onSilence: () => void) {
    this.#timers = timers;
    this.#onSilence = onSilence;
  }

  /** Makes a call. Its error is an answer like any other. */
  async over<T>(call: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    if (this.#underWay === 1) this.#look(SILENT_AFTER_MS);
    try {
      return await call();
    } finally {
      this.#underWay -= 1;
      this.#answeredAt = this.#timers.monotonic();
      if (this.#underWay === 0) this.#cancel();
    }
  }

  #look(inMs: number): void {
    this.#cancel = this.#timers.after(inMs, () => {
      const rest = this.#answeredAt + SILENT_AFTER_MS - this.#timers.monotonic();
      if (rest > 0) this.#look(rest);
      else this.#onSilence();
    });
  }
}
