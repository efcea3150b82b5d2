import type { Outbox, Ticket } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../observability/logger.ts";
import type { Obstacle, WorkerDestination } from "./destinations.ts";
import type { HeldTicket, Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { leftAloneLine } from "./narrative.ts";
import { ticketsFor } from "./scheduler.ts";

/** A drain gives its ticket back after this, so that others get their turn, ms (`custody.md` §2). */
export const YIELD_AFTER_MS = 5_000;
/** A destination held is mentioned at least once a second: this much sooner, since it is looked at only now and then. */
const BEAT_AFTER_MS = 700;
/** Between two questions to the store about a lane that brings nothing, ms. */
const ASK_AGAIN_MS = 250;
/** A destination that is unknown or without its signing key is looked at again after this, ms. */
const LOOK_AGAIN_MS = 5_000;
/** … and one that is suspended after this, should nobody say that it no longer is. */
const SUSPENDED_LOOK_AGAIN_MS = 60_000;
const WIDEN_AGAIN_MS = 1_000;
/** While stopping, a ticket that the store does not take back is dropped after this: the store writes tickets anew by itself. */
const DROP_AFTER_MS = 5_000;

export interface TicketsOptions {
  readonly outbox: Outbox;
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly logger: Logger;
  /** There is something for a turn. */
  readonly wake: () => void;
  readonly stopping: AbortSignal;
}

/** Holds tickets while their destination has work, and gives each back: spent, yielded after 5 s, or left alone. */
export class Tickets {
  readonly #options: TicketsOptions;
  /** Configurations that were told to lack a key: once each, though tickets come by every few seconds. */
  readonly #toldUnsigned = new WeakSet<WorkerDestination>();
  #count = 0;
  #stoppingSince: number | undefined;

  constructor(options: TicketsOptions) {
    this.#options = options;
  }

  /** Tickets held. */
  get count(): number {
    return this.#count;
  }

  /** @returns resolves when the ticket is given back */
  hold(ticket: Ticket, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const { lanes, clock, wake } = this.#options;
      const lane = lanes.open(ticket.destination);
      const held: HeldTicket = {
        ticket,
        until: clock.monotonic() + YIELD_AFTER_MS,
        closing: false,
        release: () => {
          if (!lane.tickets.delete(held)) return;
          this.#count -= 1;
          signal.removeEventListener("abort", giveUp);
          lanes.dropIfUnused(lane);
          resolve();
        },
      };
      const giveUp = () => this.#yield(lane, held);
      lane.tickets.add(held);
      this.#count += 1;
      // The process stops, or the ticket is another's by now: then giving it back changes nothing.
      signal.addEventListener("abort", giveUp);
      if (signal.aborted) return giveUp();
      lane.newGenerations.push(ticket.generation);
      (lane.takeable ? lanes.hungry : lanes.beating).add(lane);
      wake();
    });
  }

  /** To be called several times a second. */
  tend(): void {
    const { lanes } = this.#options;
    for (const lane of lanes) {
      this.tendLane(lane, undefined);
      this.#yieldExpired(lane);
      this.#beat(lane);
      lanes.dropIfUnused(lane);
    }
  }

  /** After a turn. `waiting`: what it left ready, when it said so. */
  tendLane(lane: Lane, waiting: number | undefined): void {
    if (this.#options.stopping.aborted) return;
    if (waiting !== undefined) this.#widen(lane, waiting);
    const { obstacle } = lane;
    if (obstacle !== undefined) this.#leaveAlone(lane, obstacle);
    else if (lane.quiet && !this.#options.lanes.hungry.has(lane)) this.#finish(lane);
  }

  /** Its copies stay where they are, and the ticket goes. */
  #leaveAlone(lane: Lane, obstacle: Obstacle): void {
    if (lane.newGenerations.length > 0 || lane.turns > 0) return;
    for (const held of lane.tickets) {
      if (held.closing) continue;
      held.closing = true;
      this.#tellLeftAlone(lane, obstacle);
      const againMs = obstacle === "suspended" ? SUSPENDED_LOOK_AGAIN_MS : LOOK_AGAIN_MS;
      this.#options.outbox.postpone(held.ticket, againMs).then(held.release, () => this.#reopen(lane, held));
    }
  }

  /** A suspension is somebody's wish, a missing key is nobody's. */
  #tellLeftAlone({ id, destination }: Lane, obstacle: Obstacle): void {
    const { logger } = this.#options;
    const line = leftAloneLine(id, obstacle);
    if (obstacle !== "unsigned" || destination === undefined) return logger.debug(line);
    if (this.#toldUnsigned.has(destination)) return;
    this.#toldUnsigned.add(destination);
    const { namespace, routeName: route, entry } = destination;
    logger.warn({ namespace, route, destination: entry.name }, line);
  }

  #finish(lane: Lane): void {
    const { clock } = this.#options;
    if (clock.monotonic() < lane.doneNotBefore) return;
    for (const held of lane.tickets) {
      if (held.closing) continue;
      held.closing = true;
      this.#askDone(lane, held).catch(() => this.#reopen(lane, held));
    }
  }

  async #askDone(lane: Lane, held: HeldTicket): Promise<void> {
    const { outbox, lanes, wake } = this.#options;
    const answer = await outbox.done(held.ticket, lane.policy);
    if (answer === "idle") return held.release();
    // The store sees work where the last turns found none: asking without a pause would spin.
    if (lane.emptyLooks > 1) this.#pause(lane);
    held.closing = false;
    lanes.hungry.add(lane);
    wake();
  }

  /** The store did not take it back: tried again later. */
  #reopen(lane: Lane, held: HeldTicket): void {
    held.closing = false;
    this.#pause(lane);
  }

  #pause(lane: Lane): void {
    lane.doneNotBefore = this.#options.clock.monotonic() + ASK_AGAIN_MS;
  }

  #yieldExpired(lane: Lane): void {
    const { clock, stopping } = this.#options;
    const now = clock.monotonic();
    if (stopping.aborted) this.#stoppingSince ??= now;
    const drop = this.#stoppingSince !== undefined && now - this.#stoppingSince > DROP_AFTER_MS;
    for (const held of lane.tickets) {
      if (drop) held.release();
      else if (stopping.aborted || now >= held.until) this.#yield(lane, held);
    }
  }

  #yield(lane: Lane, held: HeldTicket): void {
    if (held.closing) return;
    held.closing = true;
    this.#options.outbox.yield(held.ticket).then(held.release, () => this.#reopen(lane, held));
  }

  #beat(lane: Lane): void {
    const { lanes, clock } = this.#options;
    if (lane.tickets.size === 0 || clock.monotonic() - lane.lastTurnAt < BEAT_AFTER_MS) return;
    // With room, the mention looks for copies that have become due meanwhile.
    (lane.room > 0 && lane.running.size > 0 ? lanes.hungry : lanes.beating).add(lane);
  }

  #widen(lane: Lane, waiting: number): void {
    const { outbox, clock, logger } = this.#options;
    const slots = ticketsFor(waiting + lane.running.size, lane.policy.limit);
    const now = clock.monotonic();
    if (lane.tickets.size === 0 || slots <= lane.tickets.size || now < lane.widenNotBefore) return;
    lane.widenNotBefore = now + WIDEN_AGAIN_MS;
    outbox
      .widen(lane.id, slots)
      .catch((error: unknown) => logger.debug({ err: error, destination: lane.id }, "no further tickets"));
  }
}
