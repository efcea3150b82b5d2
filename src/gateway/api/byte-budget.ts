/** Bytes that may be in use at a time. */
export class ByteBudget {
  #free: number;

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /** @returns gives them back; `undefined` when there are not as many left */
  take(bytes: number): (() => void) | undefined {
    if (bytes > this.#free) return undefined;
    this.#free -= bytes;
    return () => {
      this.#free += bytes;
    };
  }
}
