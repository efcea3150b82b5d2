/** Requests that a listener handles at a time, whoever they are of, those that are not known yet among them. */
const MAX_ALL = 256;
/** Requests of one caller at a time: nobody takes all the places. */
const MAX_OF_ONE = 16;

/** Bounds what is handled at a time. */
export class InFlight {
  #all = 0;
  readonly #ofCaller = new Map<string, number>();

  /** @returns gives the place back; `undefined` when all are taken */
  enter(): (() => void) | undefined {
    if (this.#all >= MAX_ALL) return undefined;
    this.#all += 1;
    return () => {
      this.#all -= 1;
    };
  }

  /** As {@link enter}, for one caller. */
  enterAs(caller: string): (() => void) | undefined {
    const count = this.#ofCaller.get(caller) ?? 0;
    if (count >= MAX_OF_ONE) return undefined;
    this.#ofCaller.set(caller, count + 1);
    return () => {
      const left = (this.#ofCaller.get(caller) ?? 1) - 1;
      if (left === 0) this.#ofCaller.delete(caller);
      else this.#ofCaller.set(caller, left);
    };
  }
}
