import type { DestinationPolicy, Settle, TakenCopy, Ticket } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { FinishedAttempt } from "./retry-policy.ts";
import {
  type Obstacle,
  obstacleOf,
  removedPolicy,
  unknownPolicy,
  type WorkerDestination,
  type WorkerRoute,
} from "./destinations.ts";
import { permits, SLOW_AFTER_MS, type Candidate } from "./scheduler.ts";

/** A copy that was taken and has no outcome yet. Times are monotonic ms of this process. */
export interface Running {
  readonly copy: TakenCopy;
  readonly lane: Lane;
  /** When the turn that brought it was answered. */
  readonly startedAt: number;
  /** The store takes it back after this. Reckoned from before the turn was sent, so never too late. */
  readonly leaseEndsAt: number;
}

/** An outcome that the store has not confirmed. */
export interface PendingSettle {
  readonly settle: Settle;
  readonly running: Running;
  /** What the outcome was decided on; absent when nothing was sent. */
  readonly result?: FinishedAttempt;
  /** The config it was decided by. */
  readonly destination: WorkerDestination | undefined;
  /** Its route's, when that has no such destination any more. */
  readonly route?: WorkerRoute | undefined;
}

export interface HeldTicket {
  readonly ticket: Ticket;
  /** Monotonic ms at which it is yielded. */
  readonly until: number;
  /** Being given back: it permits nothing any more. */
  closing: boolean;
  /** Gives it back to whoever handed it out. */
  readonly release: () => void;
}

/** What this process knows of one destination while it has a ticket, a running attempt or an unsettled outcome of it. */
export class Lane implements Candidate {
  readonly id: string;
  destination: WorkerDestination | undefined;
  /** The route, when that is in the config and has no such destination. */
  removedFrom: WorkerRoute | undefined;
  policy: DestinationPolicy;
  readonly tickets = new Set<HeldTicket>();
  /** Oldest first. */
  readonly running = new Set<Running>();
  readonly settles: PendingSettle[] = [];
  /** Generations of tickets whose first turn has not been made. */
  readonly newGenerations: number[] = [];
  /** The last turn left something ready, or a hint said so since. */
  nonEmpty = false;
  /** A hint came since the last turn was built. */
  hinted = false;
  /** Turns it is part of that are not answered. */
  turns = 0;
  /** Copies asked for in those turns. */
  expected = 0;
  /** Monotonic ms. */
  lastTurnAt = -Infinity;
  /** Turns in a row that brought nothing. */
  emptyLooks = 0;
  /** Monotonic ms before which `done` is not asked (again). */
  doneNotBefore = 0;
  /** Monotonic ms before which no more tickets are asked for. */
  widenNotBefore = 0;
  slow = false;
  /** Fires when its gate may let copies through again, while the lane is held. */
  reopening: NodeJS.Timeout | undefined;
  readonly #clock: Clock;

  constructor(id: string, clock: Clock) {
    this.#clock = clock;
    this.id = id;
    this.policy = unknownPolicy(id);
  }

  /**
   * Takes over a new config. A destination that is gone keeps the last policy for what is in flight.
   * @param route its route's config
   */
  configure(destination: WorkerDestination | undefined, route: WorkerRoute | undefined): void {
    const isNew = this.destination === undefined;
    this.destination = destination;
    this.removedFrom = destination === undefined ? route : undefined;
    if (destination !== undefined) this.policy = destination.policy;
    else if (isNew && route !== undefined) this.policy = removedPolicy(this.id, route);
  }

  /** Why copies of it may not be sent now, if so. */
  get obstacle(): Obstacle | undefined {
    return obstacleOf(this.destination, this.removedFrom, this.#clock);
  }

  /** Copies of it may be sent. */
  get takeable(): boolean {
    return this.obstacle === undefined;
  }

  get openTickets(): number {
    let open = 0;
    for (const held of this.tickets) if (!held.closing) open += 1;
    return open;
  }

  /** Copies it may take now. Unsettled ones still hold their place. */
  get room(): number {
    if (!this.takeable) return 0;
    return permits(this.openTickets, this.policy.limit) - this.running.size - this.settles.length - this.expected;
  }

  /** Nothing of it is under way. */
  get quiet(): boolean {
    return this.running.size === 0 && this.settles.length === 0 && this.turns === 0 && this.newGenerations.length === 0;
  }

  markSlow(now: number): void {
    const oldest = this.running.values().next().value;
    this.slow = oldest !== undefined && now - oldest.startedAt > SLOW_AFTER_MS;
  }
}
