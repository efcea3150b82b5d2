import type { Clock } from "../lib/clock.ts";
import { routeOf, type WorkerConfiguration, type WorkerRoute } from "./destinations.ts";
import { Lane, type PendingSettle, type Running } from "./lane.ts";

/** All lanes of a worker, and what is to be done with them in the next turn. Sets keep their order, so whoever was served goes to the end. */
export class Lanes {
  readonly #byId = new Map<string, Lane>();
  readonly #onDrop: (lane: Lane) => void;
  readonly #clock: Clock;
  #destinations: WorkerConfiguration = new Map();
  /** Have room and may have something to take. */
  readonly hungry = new Set<Lane>();
  /** Have outcomes to settle. */
  readonly dirty = new Set<Lane>();
  /** Are to be mentioned, without taking. */
  readonly beating = new Set<Lane>();
  /** Were part of a turn whose answer was lost: leases may be held for them that this process does not know of. */
  readonly adopting = new Set<Lane>();
  /** Slots in use: running attempts and outcomes that are not settled. */
  held = 0;
  /** Slots that copies asked for in turns under way may take. */
  expected = 0;

  constructor(clock: Clock, onDrop: (lane: Lane) => void = () => undefined) {
    this.#clock = clock;
    this.#onDrop = onDrop;
  }

  get size(): number {
    return this.#byId.size;
  }

  [Symbol.iterator](): IterableIterator<Lane> {
    return this.#byId.values();
  }

  get(id: string): Lane | undefined {
    return this.#byId.get(id);
  }

  open(id: string): Lane {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const lane = new Lane(id, this.#clock);
    this.#configure(lane);
    this.#byId.set(id, lane);
    return lane;
  }

  /**
   * Replaces the config of every destination at once.
   * @returns ids of those that were suspended until now
   */
  configure(destinations: WorkerConfiguration): readonly string[] {
    const before = this.#destinations;
    this.#destinations = destinations;
    for (const lane of this.#byId.values()) this.#configure(lane);
    // An inline one that was not there went by its route.
    const wasSuspended = (id: string) =>
      (before.get(id) ?? (id.startsWith("~") ? undefined : routeOf(before, id)))?.suspended === true;
    return [...destinations].flatMap(([id, { suspended }]) => (!suspended && wasSuspended(id) ? [id] : []));
  }

  #configure(lane: Lane): void {
    lane.configure(this.#destinations.get(lane.id), routeOf(this.#destinations, lane.id));
  }

  /** A route in the config, by its key. */
  route(key: string | undefined): WorkerRoute | undefined {
    return this.#destinations.routes?.get(key ?? "");
  }

  /** See `WorkerConfiguration.isLive`. */
  get isLive(): boolean {
    return this.#destinations.isLive?.() === true;
  }

  start(running: Running): void {
    running.lane.running.add(running);
    this.held += 1;
  }

  /** The attempt is over; its outcome waits for the next turn and keeps the slot until it is confirmed. */
  finish(pending: PendingSettle): void {
    const { lane } = pending.running;
    lane.running.delete(pending.running);
    lane.settles.push(pending);
    this.dirty.add(lane);
  }

  /** Outcomes go out with a turn. */
  takeSettles(lane: Lane, count: number): readonly PendingSettle[] {
    const taken = lane.settles.splice(0, count);
    this.dirty.delete(lane);
    if (lane.settles.length > 0) this.dirty.add(lane);
    this.held -= taken.length;
    return taken;
  }

  /** The turn failed: they come first in the next one. */
  returnSettles(pendings: readonly PendingSettle[]): void {
    for (const pending of pendings.toReversed()) {
      const { lane } = pending.running;
      lane.settles.unshift(pending);
      this.dirty.add(lane);
    }
    this.held += pendings.length;
  }

  /** A turn leaves: what it asks for is reckoned as taken until it is answered. */
  depart(lanes: Iterable<Lane>, wants: ReadonlyMap<Lane, number>): void {
    for (const lane of lanes) lane.turns += 1;
    for (const [lane, want] of wants) {
      lane.expected += want;
      this.expected += want;
    }
  }

  /** … and is answered, or has failed. */
  arrive(lanes: Iterable<Lane>, wants: ReadonlyMap<Lane, number>): void {
    for (const lane of lanes) lane.turns -= 1;
    for (const [lane, want] of wants) {
      lane.expected -= want;
      this.expected -= want;
    }
  }

  /** Forgets a lane that has nothing left. */
  dropIfUnused(lane: Lane): void {
    if (!lane.quiet || lane.tickets.size > 0 || this.adopting.has(lane)) return;
    this.hungry.delete(lane);
    this.beating.delete(lane);
    clearTimeout(lane.reopening);
    if (this.#byId.delete(lane.id)) this.#onDrop(lane);
  }
}
