import type { DeletedRoute, OrphanedRoute, PurgeResult, Shelves } from "./shelves.ts";

/** A purged route, for one Event. */
export interface PurgedRoute extends PurgeResult {
  readonly route: string;
  readonly name: string;
  readonly namespaceUid: string;
}

export interface ShelvesReport {
  /** Copies put on shelves, and taken off. */
  readonly shelved: number;
  readonly unshelved: number;
  /** Routes of which attempts still run: look again in some seconds. */
  readonly active: readonly string[];
  /** Routes that were removed for good. */
  readonly purged: readonly PurgedRoute[];
  /** Orphans that are left, for `davit_orphaned_events`. */
  readonly orphans: readonly OrphanedRoute[];
}

export interface KeepShelvesOptions {
  /** Keys of the namespace's live routes. Complete, or what is missing is put on the shelf: call only with synced caches. */
  readonly live: ReadonlySet<string>;
  /** Deleted routes that are still known, e.g. by a released publication: late arrivals of theirs are shelved as well. */
  readonly deleted: readonly DeletedRoute[];
  /** How long a shelf is kept, ms. */
  readonly retentionMs: number;
  /** Keys of deleted routes whose `deletionPolicy` was `Purge`: they go at once. */
  readonly purgeNow?: ReadonlySet<string>;
  /** Asked before each step: the fence of the leader. Default: always. */
  readonly mayWrite?: () => boolean;
}

/**
 * One level-triggered round over a namespace's shelves: shelves what is deleted, takes up what lives again, purges what is old. Only routes in `deleted`
 * and those that are on a shelf already are touched. May end at any point and be repeated.
 *
 * @throws CustodyError when the store does not do it; what was done stays done
 */
export async function keepShelves(shelves: Shelves, options: KeepShelvesOptions): Promise<ShelvesReport> {
  const round = new Round(shelves, options);
  const known = new Map((await shelves.orphans()).map((orphan): [string, DeletedRoute] => [orphan.route, orphan]));
  for (const route of options.deleted) known.set(route.route, route);
  for (const route of known.values()) {
    if (options.live.has(route.route)) await round.takeUp(route);
    else await round.putAway(route);
  }
  return round.report();
}

class Round {
  readonly #shelves: Shelves;
  readonly #options: KeepShelvesOptions;
  #shelved = 0;
  #unshelved = 0;
  readonly #active = new Set<string>();
  readonly #purged: PurgedRoute[] = [];

  constructor(shelves: Shelves, options: KeepShelvesOptions) {
    this.#shelves = shelves;
    this.#options = options;
  }

  async takeUp({ route }: DeletedRoute): Promise<void> {
    await this.#repeat(async () => {
      const { unshelved, more } = await this.#shelves.unshelve(route);
      this.#unshelved += unshelved;
      return more;
    });
  }

  async putAway(deleted: DeletedRoute): Promise<void> {
    const { route, name, namespaceUid } = deleted;
    await this.#repeat(async () => {
      const { shelved, active, more } = await this.#shelves.shelve(deleted);
      this.#shelved += shelved;
      if (active > 0) this.#active.add(route);
      return more;
    });
    const olderThanMs = this.#options.purgeNow?.has(route) ? 0 : this.#options.retentionMs;
    await this.#repeat(async () => {
      const purge = await this.#shelves.purge(route, olderThanMs);
      if (purge === undefined || purge.more) return purge !== undefined;
      // One that only keeps unreadable records was told when the others went.
      if (purge.records > 0 || purge.unreadable === 0) this.#purged.push({ route, name, namespaceUid, ...purge });
      return false;
    });
  }

  async report(): Promise<ShelvesReport> {
    const purged = new Set(this.#purged.filter(({ unreadable }) => unreadable === 0).map(({ route }) => route));
    return {
      shelved: this.#shelved,
      unshelved: this.#unshelved,
      active: [...this.#active].filter((route) => !purged.has(route)),
      purged: this.#purged,
      orphans: await this.#shelves.orphans(),
    };
  }

  async #repeat(step: () => Promise<boolean>): Promise<void> {
    const { mayWrite = () => true } = this.#options;
    while (mayWrite()) if (!(await step())) return;
  }
}
