interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls of one turn of the event loop, carried out together. */
export class Collector<T, R> {
  readonly #most: number;
  readonly #carryOut: (items: readonly T[]) => Promise<readonly R[]>;
  #waiting: Waiting<T, R>[] = [];

  /**
   * @param most of one batch
   * @param carryOut returns a result for each, in their order; what it rejects with is everybody's
   */
  constructor(most: number, carryOut: (items: readonly T[]) => Promise<readonly R[]>) {
    this.#most = most;
    this.#carryOut = carryOut;
  }

  /** Leaves once the code that runs now, and what it resolved, is through. */
  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) process.nextTick(() => this.#flush());
      this.#waiting.push({ item, resolve, reject });
    });
  }

  #flush(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < all.length; from += this.#most) void this.#run(all.slice(from, from + this.#most));
  }

  async #run(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const results = await this.#carryOut(batch.map(({ item }) => item));
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as R);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
