/** When keys were worked on last, so that none is again too soon. Remembers none for longer than that takes: whoever forges keys fills no memory. */
export class LastWorked {
  readonly #intervalMs: number;
  /** Monotonic ms, least recently worked on first. */
  readonly #at = new Map<string, number>();

  /** @param intervalMs between two times of one key */
  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Work on a key begins. */
  note(key: string, now: number): void {
    this.#at.delete(key);
    this.#at.set(key, now);
    for (const [other, at] of this.#at) {
      if (now - at < this.#intervalMs || other === key) return;
      this.#at.delete(other);
    }
  }

  /** @returns ms until a key may be worked on again; 0 or less: now */
  waitMs(key: string, now: number): number {
    return this.#intervalMs - (now - (this.#at.get(key) ?? Number.NEGATIVE_INFINITY));
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#at.size;
  }
}
