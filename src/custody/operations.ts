import type { CopyState, DeadLetter, EventView } from "./port.ts";

/**
 * The part of the custody port that operators and consumers use: lists with filters, list-events by sequence, replays, discard and cancel (`custody.md` §7).
 * `conformance/operations.ts` is the suite every implementation passes.
 *
 * Times are Unix ms on the store's clock, both ends included. A pattern is a text, or the beginning of one with `*` at its end: `invoice.*`, `Status5*`.
 */

/** Which dead letters. What is left out restricts nothing. */
export interface DeadLetterFilter {
  /** Route key. */
  readonly route?: string;
  readonly destination?: string;
  /** Time of death. */
  readonly from?: number;
  readonly to?: number;
  /** Pattern of the reason it was given up for: `AttemptsExhausted`, `Status404`, … */
  readonly reason?: string;
  /** Pattern of the event's type; an event without one fits none. */
  readonly eventType?: string;
}

export interface DeadLetterEntry extends DeadLetter {
  readonly reason: string;
  readonly eventType?: string;
  readonly receivedAt: number;
  readonly sequence: number;
}

/** One page of a list. It may be empty and have a `next` all the same: as many entries as a call looks at fit none of the filters. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; absent at the end. */
  readonly next?: string;
}

/** Which events of a route. Filters of a copy (`state`, `destination`) are met by one and the same copy. */
export interface EventFilter {
  /** Route key. */
  readonly route: string;
  readonly destination?: string;
  /** Time of receipt. */
  readonly from?: number;
  readonly to?: number;
  /** An event that no destination wanted is `ignored`. */
  readonly state?: CopyState;
  /** Pattern of the event's type. */
  readonly eventType?: string;
}

/** Which waiting or delayed copies. One of `route` and `destination` is given. */
export type CopyFilter = Omit<Partial<EventFilter>, "state">;

export interface SequenceQuery {
  readonly route: string;
  /** Everything up to this sequence has been seen. Left out: from the oldest event that is kept, whether or not others around it are gone. */
  readonly after?: number;
  /** At most this many items. */
  readonly limit: number;
  readonly destination?: string;
  readonly eventType?: string;
  /** Bodies and headers too, where they are still kept. A page then ends after about 1 MiB. */
  readonly bodies?: boolean;
}

export interface SequencedEvent extends EventView {
  /** With `bodies`: absent when it is kept no longer. */
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface SequencePage {
  /** Ascending. */
  readonly items: readonly SequencedEvent[];
  /** `after` of the next call. Grows also when nothing fits. */
  readonly next: number;
  /** Whether there is more already. */
  readonly more: boolean;
  /** Events that were passed because only a newer Davit may read them. */
  readonly unreadable: number;
}

/**
 * Events after the cursor have been removed by retention: going on would leave a gap. The consumer lists anew without `after`, or accepts the gap and goes
 * on after {@link completeAfter}.
 */
export class CursorExpired extends Error {
  readonly code = "CursorExpired";
  /** Every event with a higher sequence is still kept. */
  readonly completeAfter: number;
  constructor(completeAfter: number) {
    super(
      `events after this cursor are no longer kept: list anew without a cursor, or go on after sequence ${completeAfter}`,
    );
    this.name = "CursorExpired";
    this.completeAfter = completeAfter;
  }
}

/** Only a newer Davit may read an event that is there: while versions differ, one of the newer has to be asked. */
export class EventUnreadable extends Error {
  override readonly name = "EventUnreadable";
  readonly code = "EventUnreadable";
  constructor() {
    super("only a newer Davit may read this event: ask one, or ask again when all are updated");
  }
}

/** How many fit. Counting looks at a bounded number of entries, as it must not keep the store from delivering. */
export interface Count {
  readonly count: number;
  /** It was given up at the bound: there may be more. */
  readonly atLeast: boolean;
}

/** `running`, `paused` until somebody resumes it, and two final ones. */
export type ReplayState = "running" | "paused" | "done" | "cancelled";

/** A replay of many dead letters. Workers of the namespace advance it. */
export interface Replay {
  readonly id: string;
  readonly filter: DeadLetterFilter;
  /** Dead letters that died later are none of its: frozen at creation, so that what dies again is not replayed again. */
  readonly to: number;
  /** Most copies a second. */
  readonly rate: number;
  readonly state: ReplayState;
  /** Dead letters that fitted when it was created. */
  readonly total: number;
  /** There may have been more, see {@link Count}. */
  readonly totalAtLeast: boolean;
  /** Copies made live again so far. */
  readonly replayed: number;
  /** Dead letters looked at so far. */
  readonly scanned: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Whoever it was created for, who finds it by this. Absent: an operator's. */
  readonly owner?: string;
}

export interface ReplayRequest {
  readonly filter: DeadLetterFilter;
  /** Most copies a second, 1 to 5,000. Default {@link DEFAULT_REPLAY_RATE}. */
  readonly rate?: number;
  /** The caller's idempotency key: a second request with it gets the first one's replay. */
  readonly key?: string;
  /** See {@link Replay.owner}: at most 256 characters. */
  readonly owner?: string;
  /** Asked when there is no replay with the key: what it throws is thrown, and none is created. */
  readonly mayCreate?: () => Promise<void>;
}

export const DEFAULT_REPLAY_RATE = 500;
export const MAX_REPLAY_RATE = 5_000;

/** A key was used before for another filter or rate. */
export class ReplayKeyReused extends Error {
  readonly code = "ReplayKeyReused";
  /** Id of the replay that has the key. */
  readonly replay: string;
  constructor(replay: string) {
    super(`the key belongs to replay ${replay}, which has another filter or rate: use another key`);
    this.name = "ReplayKeyReused";
    this.replay = replay;
  }
}

/** What a call is to act on: copies of one event, or all that fit a filter (then `cursor` is the last call's `next`). */
export type Selection<F> =
  | { readonly eventId: string; readonly destination?: string }
  | { readonly filter: F; readonly cursor?: string };

/** Outcome of one call. Repeating a call changes nothing more. */
export interface Acted {
  /** Copies that changed their state by this call. */
  readonly copies: number;
  /** Copies that a request is under way for: they were left alone. */
  readonly active: number;
  /** There is more: call again with this cursor. What fits a filter is frozen by the first call. */
  readonly next?: string;
}

/** The operations of one namespace. */
export interface Operations {
  /**
   * One event. `undefined`: there is none with this id, or it is kept no longer.
   * @param options.route tells of no unreadable event of another route
   * @throws EventUnreadable
   */
  event(
    id: string,
    options?: { readonly bodies?: boolean; readonly route?: string },
  ): Promise<SequencedEvent | undefined>;
  /** Newest first. */
  events(query: EventFilter & { readonly limit: number; readonly cursor?: string }): Promise<Page<EventView>>;
  /**
   * For consumers that reconcile after a downtime, or poll: ascending, without gaps.
   * @throws CursorExpired
   */
  eventsAfter(query: SequenceQuery): Promise<SequencePage>;
  /** Oldest death first. */
  deadLetters(
    query: DeadLetterFilter & { readonly limit: number; readonly cursor?: string },
  ): Promise<Page<DeadLetterEntry>>;
  /** How many a replay or a discard would take now. */
  countDeadLetters(filter: DeadLetterFilter): Promise<Count>;
  /**
   * Creates a replay, unless there is one with its key.
   * @throws ReplayKeyReused
   * @throws RangeError when the rate is out of bounds
   */
  startReplay(request: ReplayRequest): Promise<{ readonly replay: Replay; readonly created: boolean }>;
  replay(id: string): Promise<Replay | undefined>;
  /** The newest 100, newest first; those that ended are known for 7 days. @param owner only those of this owner */
  replays(owner?: string): Promise<readonly Replay[]>;
  /** Idempotent; one that ended stays as it is. `undefined`: there is none with this id. */
  steerReplay(id: string, to: "paused" | "running" | "cancelled"): Promise<Replay | undefined>;
  /** Takes dead letters away. They can be restored for 24 h; then body and log are removed, and they are counted. A redelivery is a duplicate at once. */
  discard(selection: Selection<DeadLetterFilter>): Promise<Acted>;
  /** Makes discarded copies dead letters again, with their time of death. */
  restore(selection: Selection<DeadLetterFilter>): Promise<Acted>;
  /** How many waiting and delayed copies a cancel would end now. */
  countCancellable(filter: CopyFilter): Promise<Count>;
  /** Ends waiting and delayed copies for good; a redelivery is a duplicate. */
  cancel(selection: Selection<CopyFilter>): Promise<Acted>;
}
