/**
 * The part of the custody port that keeps what deleted routes leave behind (`custody.md` §9). The controller calls it, level-triggered; nothing else needs
 * it. `conformance/shelves.ts` is the suite every implementation passes.
 *
 * Each call does a bounded part of the work in one atomic step after the other. When it says `more`, call it again; a call that is repeated, or that follows
 * one whose process died in the middle, goes on from where that was.
 */

/** A route that no longer exists. */
export interface DeletedRoute {
  /** Route key: 16 hex digits, see `routeKey`. */
  readonly route: string;
  /** Its name, for people. */
  readonly name: string;
  /** UID of the namespace it was in. */
  readonly namespaceUid: string;
  /** Ids of its inline destinations, as far as they are known: what the store remembers of them is removed with the route. */
  readonly destinations?: readonly string[];
}

/** What lies on the shelf of a deleted route. */
export interface OrphanedRoute {
  readonly route: string;
  /** Empty when it was shelved by its key only. */
  readonly name: string;
  readonly namespaceUid: string;
  /** Unix ms on the store's clock. Retention counts from it. */
  readonly shelvedAt: number;
  /** Events with copies that wait on the shelf. */
  readonly events: number;
  /** Dead letters of the route: they are kept and removed together with the shelf. */
  readonly deadLetters: number;
  /** All records of the route, delivered ones included. */
  readonly records: number;
}

export interface ShelveResult {
  /** Copies put on the shelf by this call. */
  readonly shelved: number;
  /** Copies whose attempt is running: they are put there once it has ended, or its lease has run out. Call again after a while. */
  readonly active: number;
  readonly more: boolean;
}

export interface UnshelveResult {
  /** Copies that were put back by this call: into their lane, or delayed as they were. */
  readonly unshelved: number;
  readonly more: boolean;
}

/** Counts since the purge began, over all its calls. */
export interface PurgeResult {
  /** Records that were removed. */
  readonly records: number;
  /** Copies among them that had not been delivered. */
  readonly undelivered: number;
  readonly deadLetters: number;
  /** Records that only a newer Davit may read: they are left, and the route stays an orphan. */
  readonly unreadable: number;
  readonly more: boolean;
}

export interface AdoptResult {
  /** Records that were moved by this call. */
  readonly records: number;
  /** Records that have a running attempt, or that only a newer Davit may read: they are still the old route's. Call again after a while. */
  readonly left: number;
  readonly more: boolean;
}

/** The shelves of one namespace. */
export interface Shelves {
  /** Deleted routes that were not taken up again and not purged, the longest deleted first. */
  orphans(): Promise<readonly OrphanedRoute[]>;
  /** Keys of all routes that have something in custody here: live ones, orphans, and those that nobody has shelved (after a restore with new UIDs). */
  routes(): Promise<readonly string[]>;
  /**
   * Takes a deleted route's copies out of every lane and due set. A route with nothing in custody leaves nothing. Events that a gateway accepts a moment
   * later go into their lanes; the next call finds them.
   */
  shelve(route: DeletedRoute): Promise<ShelveResult>;
  /** Takes a route up again that exists (once more): nothing when it was not shelved. The budgets of its copies stood still meanwhile. */
  unshelve(route: string): Promise<UnshelveResult>;
  /**
   * Removes everything of a route that has been on its shelf for `olderThanMs`: records, dead letters, marks of what was not delivered. Attempts that run
   * end without effect.
   * @returns `undefined` when the route is not shelved, or not for so long
   */
  purge(route: string, olderThanMs: number): Promise<PurgeResult | undefined>;
  /**
   * Gives all records of one route key to another: a restore gave the namespace a new UID. Shelves `from` first; what comes is in the lanes of `to` at
   * once, under the same event ids. Marks cannot be carried over: a redelivery of an adopted event counts as new.
   * @throws RangeError when both are the same
   */
  adopt(from: string, to: string): Promise<AdoptResult>;
}
