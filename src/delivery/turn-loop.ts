import { CustodyError, type Outbox, type TurnResult } from "../custody/port.ts";
import type { Clock } from "../lib/clock.ts";
import type { Lane } from "./lane.ts";
import type { Lanes } from "./lanes.ts";
import { buildTurn, type Turn } from "./turn.ts";

/** While the store works on one turn the next may leave: else outcomes and permits stand idle for as long as it takes. */
const MAX_FLYING = 2;
/** … once it carries this much, so that a busy worker does not make many small ones. */
const WORTH_A_SECOND = 12;
/** Pause after a turn that failed, ms. The contract asks for a repetition at least every 500 ms. */
export const REPEAT_AFTER_MS = 250;

export interface TurnLoopOptions {
  readonly outbox: Outbox;
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly slots: number;
  /** `false` once the worker stops. */
  readonly mayTake: () => boolean;
  /** The store answered. `sentAt`: monotonic ms read before the request left. */
  readonly onAnswer: (turn: Turn, result: TurnResult, sentAt: number) => void;
  readonly onFailure: (turn: Turn, error: unknown) => void;
}

/**
 * Keeps a turn in flight, and a second one when enough has finished meanwhile; each starts in the next turn of the event loop. The store answers them in
 * the order in which they left.
 *
 * A turn that fails loses nothing: its outcomes stay and are repeated, and since its answer may have carried copies, the next one names what is really
 * in flight (`adopt`); so it does after one that the store was sent twice. That one waits until nothing else is under way, as only then it is known what that is. When a script failed on some destination's data, its destinations are repeated one by one, so that one cannot hold up the others.
 */
export class TurnLoop {
  readonly #options: TurnLoopOptions;
  /** Lanes of a turn that failed with a script error, and when each is tried alone. Monotonic ms. */
  readonly #quarantine = new Map<Lane, number>();
  #scheduled = false;
  #flying = 0;
  #broken = false;
  #halted = false;
  #repeatTimer: NodeJS.Timeout | undefined;

  constructor(options: TurnLoopOptions) {
    this.#options = options;
  }

  /** No turn is in flight and none is due. */
  get idle(): boolean {
    return this.#flying === 0 && !this.#scheduled && this.#repeatTimer === undefined;
  }

  /** Makes no further turn, whatever is left to say: the store is given up. */
  halt(): void {
    this.#halted = true;
    clearTimeout(this.#repeatTimer);
    this.#repeatTimer = undefined;
  }

  /** Has a turn made soon, if there is something to say. To be called now and then, for lanes that are repeated alone at their own time. */
  schedule(): void {
    if (this.#scheduled || this.#repeatTimer !== undefined || !this.#mayLeave()) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#turn();
    });
  }

  /** A turn by itself, for a lane in quarantine or after a failure, has the way to itself. */
  #mayLeave(): boolean {
    if (this.#halted) return false;
    if (this.#flying === 0) return true;
    const { lanes } = this.#options;
    if (this.#flying >= MAX_FLYING || this.#broken || this.#quarantine.size > 0 || lanes.adopting.size > 0)
      return false;
    let outcomes = 0;
    for (const lane of lanes.dirty) outcomes += lane.settles.length;
    return outcomes >= WORTH_A_SECOND;
  }

  async #turn(): Promise<void> {
    const { outbox, lanes, clock, slots, mayTake, onAnswer } = this.#options;
    if (!this.#mayLeave()) return;
    const sentAt = clock.monotonic();
    const alone = this.#nextAlone(sentAt);
    const admits = (lane: Lane) => (alone === undefined ? !this.#quarantine.has(lane) : lane === alone);
    const turn = buildTurn(lanes, { slots, now: sentAt, take: mayTake(), admits });
    if (turn === undefined) return this.#nothingToSay(alone);
    this.#flying += 1;
    let result: TurnResult;
    try {
      result = await outbox.turn(turn.request);
    } catch (error) {
      this.#failed(turn, error);
      return;
    }
    this.#flying -= 1;
    this.#confirmed(turn, result);
    if (alone !== undefined) this.#quarantine.delete(alone);
    onAnswer(turn, result, sentAt);
    if (this.#broken && this.#flying === 0) this.#repeatLater();
    else this.schedule();
  }

  #nothingToSay(alone: Lane | undefined): void {
    if (alone === undefined) return;
    this.#quarantine.delete(alone);
    this.schedule();
  }

  #nextAlone(now: number): Lane | undefined {
    for (const [lane, at] of this.#quarantine) if (at <= now) return lane;
    return undefined;
  }

  #confirmed(turn: Turn, result: TurnResult): void {
    const { lanes } = this.#options;
    const taken = countByDestination(result);
    lanes.arrive(turn.lanes, turn.wants);
    this.#adopted(turn);
    for (const [lane, want] of turn.wants) {
      if (lane.newGenerations.length > 0) lanes.beating.add(lane);
      lane.nonEmpty = lane.hinted || (result.waiting.get(lane.id) ?? 0) > 0;
      if (want > 0) this.#looked(lane, taken.get(lane.id) ?? 0);
    }
    if (result.repeated) this.#adoptAll(turn);
  }

  #adopted({ lanes, request: { adopt } }: Turn): void {
    if (adopt === undefined) return;
    for (const lane of lanes) if (adopt.has(lane.id)) this.#options.lanes.adopting.delete(lane);
  }

  /** The store may have leased copies to this process in an answer that did not arrive. */
  #adoptAll(turn: Turn): void {
    const { lanes } = this.#options;
    for (const [lane, want] of turn.wants) {
      if (want === 0) continue;
      lanes.hungry.add(lane);
      lanes.adopting.add(lane);
    }
  }

  #looked(lane: Lane, taken: number): void {
    lane.emptyLooks = taken > 0 ? 0 : lane.emptyLooks + 1;
    if (lane.hinted) return;
    // Ready copies that it did not get are held back by its limit elsewhere, its rate or a hold: `done` or an own outcome goes on from there.
    if (taken === 0 || !lane.nonEmpty) this.#options.lanes.hungry.delete(lane);
  }

  #failed(turn: Turn, error: unknown): void {
    const { lanes, onFailure } = this.#options;
    lanes.returnSettles(turn.settles);
    lanes.arrive(turn.lanes, turn.wants);
    for (const lane of turn.wants.keys()) {
      const generation = turn.started.get(lane);
      if (generation !== undefined) lane.newGenerations.unshift(generation);
      lanes.beating.add(lane);
    }
    this.#adoptAll(turn);
    const isolate = error instanceof CustodyError && error.code === "Script";
    if (isolate) this.#isolate(turn);
    this.#flying -= 1;
    this.#broken ||= !isolate;
    onFailure(turn, error);
    // The other lanes go on at once; one that failed alone waits for its own time.
    if (!this.#broken) this.schedule();
    else if (this.#flying === 0) this.#repeatLater();
  }

  #isolate({ lanes }: Turn): void {
    const now = this.#options.clock.monotonic();
    const retryAt = lanes.size === 1 ? now + REPEAT_AFTER_MS : now;
    for (const lane of lanes) {
      this.#quarantine.delete(lane);
      this.#quarantine.set(lane, retryAt);
    }
  }

  #repeatLater(): void {
    this.#broken = false;
    if (this.#halted) return;
    this.#repeatTimer = setTimeout(() => {
      this.#repeatTimer = undefined;
      this.schedule();
    }, REPEAT_AFTER_MS);
  }
}

function countByDestination({ copies }: TurnResult): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { destination } of copies) counts.set(destination, (counts.get(destination) ?? 0) + 1);
  return counts;
}
