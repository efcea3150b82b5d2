import type { Clock } from "../../lib/clock.ts";

/** Publications of one kind, whose `seq` are stamped together with those of the others. */
export interface StampedKind {
  /** Highest `seq` that is known of them. */
  readonly highestSeq: () => number;
  /** Reads all of them from the API server. */
  readonly look: () => Promise<void>;
}

/**
 * Gives out `seq` = max(last + 1, now) over all kinds of publications, to one writer at a time: each write is over before the next begins, so that who reads
 * them sees `seq` in order and may conclude from a high one that it has seen the lower ones.
 */
export class Stamps {
  readonly #clock: Pick<Clock, "now">;
  readonly #kinds: StampedKind[] = [];
  #tail: Promise<unknown> = Promise.resolve();
  /** Highest `seq` that was written. */
  #last = 0;
  #hasLooked = false;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** From now on stamps are above those of this kind too. Before the first turn only. */
  cover(kind: StampedKind): void {
    this.#kinds.push(kind);
  }

  /** Does something when everything that was asked for before is over, whatever came of it. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(async () => {
      await this.#lookOnce();
      return work();
    });
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  /** The stamp for the next write. In a turn only. */
  next(): number {
    const highest = Math.max(this.#last, ...this.#kinds.map(({ highestSeq }) => highestSeq()));
    return Math.max(highest + 1, this.#clock.now());
  }

  /** It was written. */
  used(seq: number): void {
    this.#last = seq;
  }

  /**
   * The watch may lag behind what the last leader wrote: before the first stamp of this one all publications are read once, so that its `seq`
   * grows over all of them whatever the clocks say.
   */
  async #lookOnce(): Promise<void> {
    if (this.#hasLooked) return;
    await Promise.all(this.#kinds.map(({ look }) => look()));
    this.#hasLooked = true;
  }
}
