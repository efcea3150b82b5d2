import type { Backlog, Backlogs } from "../custody/backlog.ts";

/** WebhookDestinations looked at in one script. */
const PAGE = 500;
/** A round begins this long after the last one began, ms, or when that ends: a namespace in which nothing lies is asked seldom. */
const ROUND_MS = 5_000;

export interface SharedBacklogsOptions {
  readonly ledger: Pick<Backlogs, "sharedBacklogs">;
  /** Monotonic ms. */
  readonly now: () => number;
  /** Default 5,000. */
  readonly roundMs?: number;
}

/**
 * What lies for the WebhookDestinations of a namespace. They are looked at in rounds, some pages at a time, so that 10,000 of them cost a store no more than 500:
 * figures are then as old as a round takes.
 */
export class SharedBacklogWatch {
  readonly #options: SharedBacklogsOptions;
  #known = new Map<string, Backlog>();
  #cursor: string | undefined;
  #beganAt = Number.NEGATIVE_INFINITY;

  constructor(options: SharedBacklogsOptions) {
    this.#options = options;
  }

  /** Every one that has copies or got something, as last seen. */
  get all(): readonly Backlog[] {
    return [...this.#known.values()];
  }

  /** Those of these WebhookDestinations. @param ids as `~<id>` */
  of(ids: readonly string[]): readonly Backlog[] {
    return ids.flatMap((id) => this.#known.get(id) ?? []);
  }

  /**
   * Looks at the next ones.
   *
   * @param pages at most so many; a round that ends ends the look
   * @throws CustodyError when the store does not answer; the last figures stand
   */
  async look(pages: number): Promise<void> {
    const { now, roundMs = ROUND_MS } = this.#options;
    if (this.#cursor === undefined) {
      if (now() - this.#beganAt < roundMs) return;
      this.#beganAt = now();
    }
    for (let page = 0; page < pages; page++) {
      this.#cursor = await this.#page(this.#cursor ?? "~");
      if (this.#cursor === undefined) return;
    }
  }

  async #page(cursor: string): Promise<string | undefined> {
    // Where copies wait it counts when something was delivered last, also to those for which none wait.
    const deliveries = this.all.some(({ waiting, delayed }) => waiting + delayed > 0);
    const { backlogs, next } = await this.#options.ledger.sharedBacklogs({ limit: PAGE, cursor, deliveries });
    for (const id of this.#known.keys()) {
      if (id > cursor && (next === undefined || id <= next)) this.#known.delete(id);
    }
    for (const [id, backlog] of backlogs) this.#known.set(id, backlog);
    return next;
  }
}

/** All of them at once, for somebody who asks seldom. @throws CustodyError */
export async function allSharedBacklogs(ledger: Pick<Backlogs, "sharedBacklogs">): Promise<readonly Backlog[]> {
  const all: Backlog[] = [];
  let cursor: string | undefined;
  do {
    const { backlogs, next } = await ledger.sharedBacklogs({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    all.push(...backlogs.values());
    cursor = next;
  } while (cursor !== undefined);
  return all;
}
