export interface MapAheadOptions<T, R> {
  /** Of an item, above 0; bounded by {@link most}. */
  readonly weight: (item: T) => number;
  /** All items that are begun and not taken weigh less than this when another one is begun. */
  readonly most: number;
  /** Weight of those that are mapped at a time, by the weight of those that are mapped and not taken. One is always. Default: no bound but {@link most}. */
  readonly pace?: (done: number) => number;
  readonly map: (item: T) => Promise<R>;
}

/** Maps items in their order, several begun ahead of the one that is asked for. Ending it early begins nothing more. */
export async function* mapAhead<T, R>(source: AsyncIterable<T>, options: MapAheadOptions<T, R>): AsyncGenerator<R> {
  const ahead = new Ahead(source, options);
  try {
    for (let next = await ahead.next(); next !== undefined; next = await ahead.next()) yield next.value;
  } finally {
    await ahead.end();
  }
}

interface Begun<R> {
  readonly weight: number;
  readonly result: Promise<R>;
}

class Ahead<T, R> {
  readonly #options: MapAheadOptions<T, R>;
  readonly #begun: Begun<R>[] = [];
  readonly #filled: Promise<void>;
  #weight = 0;
  /** Of {@link #weight}, what is not mapped yet. */
  #underWay = 0;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #wakeSource: (() => void) | undefined;
  #wakeTaker: (() => void) | undefined;

  constructor(source: AsyncIterable<T>, options: MapAheadOptions<T, R>) {
    this.#options = options;
    this.#filled = this.#fill(source);
  }

  /** The next in order; `undefined` after the last. */
  async next(): Promise<{ readonly value: R } | undefined> {
    while (this.#begun.length === 0) {
      if (this.#failure) throw this.#failure.error;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wakeTaker = resolve;
      });
    }
    const [first] = this.#begun;
    if (first === undefined) return undefined;
    const value = await first.result;
    this.#begun.shift();
    this.#weight -= first.weight;
    this.#wakeSource?.();
    return { value };
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#wakeSource?.();
    await this.#filled;
  }

  async #fill(source: AsyncIterable<T>): Promise<void> {
    try {
      for await (const item of source) {
        if (this.#ended) break;
        this.#begin(item);
        while (!this.#mayBegin() && !this.#ended) await this.#change();
        if (this.#ended) break;
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#ended = true;
    this.#wakeTaker?.();
  }

  #begin(item: T): void {
    const weight = this.#options.weight(item);
    const result = this.#options.map(item);
    const mapped = () => {
      this.#underWay -= weight;
      this.#wakeSource?.();
    };
    // A failure is looked at when its turn comes, which may be later.
    result.then(mapped, mapped);
    this.#begun.push({ weight, result });
    this.#weight += weight;
    this.#underWay += weight;
    this.#wakeTaker?.();
  }

  #mayBegin(): boolean {
    const { most, pace } = this.#options;
    if (this.#weight >= most) return false;
    return pace === undefined || this.#underWay <= 0 || this.#underWay < pace(this.#weight - this.#underWay);
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeSource = resolve;
    });
  }
}
