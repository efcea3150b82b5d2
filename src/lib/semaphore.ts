/** Lets so many in at a time; so many more may wait, first come, first served. */
export class Semaphore {
  #free: number;
  readonly #mostWaiting: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number, mostWaiting: number) {
    this.#free = places;
    this.#mostWaiting = mostWaiting;
  }

  /**
   * Runs a task when a place is free.
   *
   * @returns its result; `undefined` at once when too many wait already
   */
  async run<T>(task: () => Promise<T>): Promise<T | undefined> {
    if (this.#free > 0) this.#free -= 1;
    else if (this.#waiting.length >= this.#mostWaiting) return undefined;
    else
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
