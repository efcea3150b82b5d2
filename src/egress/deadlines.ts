import { systemClock, type Clock } from "../lib/clock.ts";

/** Something that must not outlive a point in time. */
export interface Expiring {
  /** On the clock's monotonic scale, ms. Fixed while it is held. */
  readonly deadline: number;
  /** Called once, at most {@link RESOLUTION_MS} late (more when the event loop was blocked). */
  onDeadline(): void;
}

/** How late a deadline may fire, ms. */
export const RESOLUTION_MS = 50;
const SLOTS = 2048;

/**
 * One timer for all requests of a process: a hashed wheel (Varghese and Lauck, 1987) of 50 ms slots. Adding and removing is one set operation,
 * against a timer object each. Deadlines further away than a turn of the wheel (102 s) stay in their slot for the next turn.
 */
export class Deadlines {
  readonly #slots: Set<Expiring>[] = Array.from({ length: SLOTS }, () => new Set());
  readonly #clock: Clock;
  #size = 0;
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  add(item: Expiring): void {
    if (this.#timer === undefined) this.#start();
    // A slot that the hand has passed would wait for a whole turn.
    const tick = Math.max(Math.ceil(item.deadline / RESOLUTION_MS), this.#tick + 1);
    this.#slots[tick % SLOTS]?.add(item);
    this.#size += 1;
  }

  remove(item: Expiring): void {
    const exact = Math.ceil(item.deadline / RESOLUTION_MS);
    if (this.#slots[exact % SLOTS]?.delete(item) || this.#removeSlowly(item)) this.#size -= 1;
    if (this.#size === 0) this.#stop();
  }

  /** The item was added when its deadline had passed, and so lies in another slot: rare. */
  #removeSlowly(item: Expiring): boolean {
    return this.#slots.some((slot) => slot.delete(item));
  }

  #start(): void {
    this.#tick = Math.floor(this.#clock.monotonic() / RESOLUTION_MS);
    this.#timer = setInterval(() => this.#advance(), RESOLUTION_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #advance(): void {
    const now = this.#clock.monotonic();
    const target = Math.floor(now / RESOLUTION_MS);
    // After a long pause one turn covers every slot.
    if (target - this.#tick > SLOTS) this.#tick = target - SLOTS;
    while (this.#tick < target) {
      this.#tick += 1;
      const slot = this.#slots[this.#tick % SLOTS];
      if (slot === undefined || slot.size === 0) continue;
      for (const item of slot) {
        if (item.deadline > now) continue;
        slot.delete(item);
        this.#size -= 1;
        item.onDeadline();
      }
    }
    if (this.#size === 0) this.#stop();
  }
}
