import type { Secret } from "../lib/secret.ts";
import type { ProviderIdMatch, ProviderIdQuery } from "./provider-id.ts";
import type { Backlogs } from "./backlog.ts";
import type { GateConfig, GateOutcome, Gates, GateTransition } from "./gate.ts";

/**
 * The custody port: what the rest of Davit knows of the store that holds events. `redis/` is its one implementation today;
 * `conformance.ts` is the suite every implementation passes. Nothing outside `redis/` names a Redis key or a BullMQ class.
 */

/** How long marks and records of a route are kept. Read at each call, never stored with an event. */
export interface RoutePolicy {
  /** Route key: 16 hex digits, see `routeKey`. */
  readonly route: string;
  /** Dedupe window in ms, counted from receipt. */
  readonly windowMs: number;
  /** Windows that applied before an edit: still looked into until `until` (Unix ms). At most 2. */
  readonly earlierWindows: readonly { readonly windowMs: number; readonly until: number }[];
  readonly retention: {
    /** ms a delivered record is kept after receipt. */
    readonly deliveredMs: number;
    /** ms a dead letter is kept after its death. */
    readonly deadLettersMs: number;
    /** Most records of the route that are kept; the oldest delivered go first. */
    readonly maxEvents: number;
    /** Keep the body of a delivered event until its record goes. */
    readonly keepBodies: boolean;
  };
  /** Its deliveries are suspended: what lies on its shelf stays there. Otherwise the shelf of a route that is not deleted is emptied. */
  readonly suspended?: boolean;
}

/** What identifies a delivery of a provider, hashed. See `custody.md` §4 for how it is judged. */
export interface DedupeMark {
  /** First 16 bytes of SHA-256 over the length-prefixed parts (route key, source, id). */
  readonly key: Buffer;
  /** A key made of signature and body: ends with its window whatever becomes of the event. */
  readonly weak: boolean;
  /** First 8 bytes of SHA-256(body), when the id is not covered by the signature: another body is then another event. */
  readonly bodyHash?: Buffer;
  /** With {@link bodyHash}: the id is good for one body only, and another is refused as `reused`. */
  readonly oneBody?: boolean;
}

/** Something signed that is good for one body only, because the signature does not cover the body (Mailgun's token, a JWT). */
export interface Nonce {
  /** First 16 bytes of SHA-256 over the length-prefixed route key and nonce. */
  readonly key: Buffer;
  /** First 16 bytes of SHA-256(body). */
  readonly bodyHash: Buffer;
  /** How long after this receipt it is known, ms. It is found again whatever the window of another request or policy is; the one that ends last counts. */
  readonly windowMs: number;
}

/** A verified event on its way into custody. */
export interface NewEvent {
  /** ULID, 26 characters. */
  readonly id: string;
  readonly policy: RoutePolicy;
  /** `undefined`: no dedupe. */
  readonly mark: DedupeMark | undefined;
  /** Used with another body before, it has the event refused as `reused`. */
  readonly nonce?: Nonce;
  /** Headers kept for delivery and the log, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The published entry's `seq` the event was accepted under. */
  readonly seq: number;
  readonly eventType?: string;
  /** One copy each, at most 32. `limit` is the destination's concurrency. */
  readonly destinations: readonly { readonly destination: string; readonly limit: number }[];
}

/**
 * What became of a claim. `duplicate` and `revived` carry the id of the event that was there first. `reused`: its nonce, or its mark of `oneBody`, came with another body before, nothing
 * is kept, and the id is of no event.
 */
export interface ClaimResult {
  readonly outcome: "new" | "duplicate" | "revived" | "reused";
  readonly id: string;
}

/** The ingest side. Resolves only after the store confirmed the write as durable. */
export interface Inbox {
  /**
   * Dedupe, sequence, record and copies in one atomic step.
   * @throws CustodyError when the store did not confirm; record and mark then exist both or neither
   */
  claim(event: NewEvent): Promise<ClaimResult>;
  /** Leaves a trace of a refused request (the last 100 of a route are kept). Best effort, never throws. */
  reject(rejection: Rejection): void;
  /**
   * Keeps a secret that a provider handed over in a handshake, for the operator to read: 10 of a route, 72 h. When there are more, the first and the newest stay, and
   * the client with most of them makes room. Resolves once it is durable.
   * @throws CustodyError when the store did not confirm
   */
  keep(kept: KeptHandshake): Promise<void>;
}

/** A secret that a provider handed over in a handshake. */
export interface KeptHandshake {
  readonly route: string;
  /** Unix ms. */
  readonly at: number;
  /** Address of the client. */
  readonly client: string;
  readonly kind: "verification-token" | "hook-secret";
  readonly value: Secret;
}

/** A refused request: names and hashes, never values. */
export interface Rejection {
  readonly route: string;
  readonly at: number;
  readonly client: string;
  readonly status: number;
  readonly reason: string;
  readonly headerNames: readonly string[];
  readonly bodyBytes: number;
  /** Hex SHA-256 of the body, empty when it was not read. */
  readonly bodySha256: string;
  /** `providerIdHash` of the delivery's id as the request claims it, when one could be read: 16 hex digits. */
  readonly idHash?: string;
}

/** What a worker tells the store about a destination at each turn. */
export interface DestinationPolicy {
  /** `<route key>/<name>` for an inline destination, `~<id>` for a WebhookDestination. */
  readonly destination: string;
  readonly policy: RoutePolicy;
  /** Most requests at a time, over all processes. */
  readonly limit: number;
  /** The whole exchange, ms. A lease lasts this long and 5 s more. */
  readonly timeoutMs: number;
  /** ms from receipt or the last revival after which a copy that is not final expires. */
  readonly maxAgeMs: number;
  /** Keys of routes that share it and are suspended: their copies go on their route's shelf instead of being handed out. */
  readonly shelving?: readonly string[];
  /** Rate, circuit, disabling. Without it, `limit` is all that holds it back. */
  readonly gate?: GateConfig;
}

/** One attempt in a copy's log. At most 50 a copy are kept. */
export interface AttemptRecord {
  /** Attempt number, from 1, over all revivals. */
  readonly attempt: number;
  /** Unix ms at which it began. */
  readonly at: number;
  readonly durationMs?: number;
  /** HTTP status, absent when there was no response. */
  readonly status?: number;
  /** What went wrong, redacted and short: `timeout`, `ECONNREFUSED`, … */
  readonly error?: string;
  /** First bytes of the response, at most 2 KiB. */
  readonly response?: string;
  readonly action: "started" | "delivered" | "retry" | "dead" | "unknown" | "expired";
  readonly delayMs?: number;
  readonly delaySource?: "schedule" | "backoff" | "retry_after";
  /** Why it is dead: `AttemptsExhausted`, `Status404`, `GiveUpAfter`, `WorkerLost`, … */
  readonly reason?: string;
}

/** A copy leased to this process: it may be sent now, and must be settled. */
export interface TakenCopy {
  readonly destination: string;
  readonly eventId: string;
  /** Grows with every take of the copy: settles carry it. */
  readonly fence: number;
  /** Attempt number, from 1, over all revivals. Goes out as `Davit-Attempt`. */
  readonly attempt: number;
  /** Attempts of the present budget, this one included. */
  readonly used: number;
  /** Unix ms (store's clock) of the present budget's first attempt, moved on by the time spent waiting in a lane. */
  readonly firstAttemptAt: number;
  /** Unix ms, the store's clock. */
  readonly now: number;
  readonly receivedAt: number;
  readonly sequence: number;
  readonly seq: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly eventType: string | undefined;
  readonly body: Buffer;
  /** Generation of its destination's gate, for {@link Settle.gate}. 0 without one. */
  readonly gateGeneration?: number;
  /** Route key of the event: several routes may use one destination. */
  readonly route?: string;
  /** Unix ms of the copy's last revival; absent when there was none. */
  readonly revivedAt?: number;
}

/** How an attempt ended. */
export interface Settle {
  readonly destination: string;
  readonly eventId: string;
  readonly fence: number;
  /**
   * `retry`: due again `delayMs` from now. `handedBack`: never reached a socket, the attempt does not count.
   * `parked`: the destination is unknown to this worker; left alone and looked at again after `delayMs`, not counted.
   * `expired`: found too old for its route, whose `maxAge` the destination's policy does not know.
   */
  readonly outcome: "delivered" | "retry" | "dead" | "handedBack" | "parked" | "ignored" | "expired";
  readonly record: AttemptRecord;
  readonly delayMs?: number;
  /** Policy of the event's route, where several routes use the destination. Absent: the destination's. */
  readonly policy?: RoutePolicy;
  /** What the attempt says about the destination. Absent: nothing. Counted once, with the outcome. */
  readonly gate?: GateOutcome;
}

/** Settles what finished and takes what comes next, for all destinations of a process at once. */
export interface TurnRequest {
  readonly settles: readonly Settle[];
  readonly takes: readonly {
    readonly destination: string;
    /** 0 keeps the destination (heartbeat) without taking. */
    readonly want: number;
    /** Generation of a ticket whose first turn this is. */
    readonly started?: number;
  }[];
  /** Every destination named in this request. */
  readonly policies: ReadonlyMap<string, DestinationPolicy>;
  /**
   * After a failed turn, its destinations and the copies this process really has in flight there: whatever else is leased to it is returned
   * uncounted, since a lost answer may have carried copies.
   */
  readonly adopt?: ReadonlyMap<string, readonly { readonly eventId: string; readonly fence: number }[]>;
}

export interface TurnResult {
  readonly copies: readonly TakenCopy[];
  /** What is left ready in each destination of `takes`. */
  readonly waiting: ReadonlyMap<string, number>;
  /** Index of each settle that was refused because the copy is somebody else's now. */
  readonly fenced: readonly number[];
  /** Leases of dead processes returned to their lane in this turn, and copies that thereby ended as `WorkerLost`. */
  readonly unknown: number;
  readonly workerLost: number;
  /** Copies that were found past `maxAgeMs` and ended as `expired`. */
  readonly expired: number;
  /** Changes of state that this turn made, in their order. */
  readonly gates?: readonly GateTransition[];
  /** ms until a destination of `takes`, whose rate or hold lets nothing through now, may give something again. None for a disabled one. */
  readonly reopenMs?: ReadonlyMap<string, number>;
  /** The request was sent again after its connection broke: an earlier answer, with copies in it, may be lost. As after a failure, `adopt` is due. */
  readonly repeated?: boolean;
}

/** "This destination has due work": held by a process until it releases it. */
export interface Ticket {
  readonly destination: string;
  readonly generation: number;
  readonly slot: number;
}

/** The worker side of one namespace. */
export interface Outbox {
  /** At most 64 settles, 64 takes; bodies of one reply stay within 1 MiB or one body of any size. */
  turn(request: TurnRequest): Promise<TurnResult>;
  /**
   * Asks whether nothing is takeable now.
   * @returns `more` when there is; otherwise the ticket is spent and the store will wake the destination by itself
   */
  done(ticket: Ticket, policy: DestinationPolicy): Promise<"more" | "idle">;
  /** Gives the ticket up while there may be work: a fresh one is left for any process. */
  yield(ticket: Ticket): Promise<void>;
  /** Gives the ticket of a destination up that this process may not drain now (unknown or suspended): looked at again after `delayMs`. */
  postpone(ticket: Ticket, delayMs: number): Promise<void>;
  /** Says that destinations whose tickets were postponed may be drained again: those with copies are looked at within a second or two. */
  lookAgain(destinations: readonly string[]): Promise<void>;
  /** Asks for up to `slots` tickets of a destination whose lane has grown. */
  widen(destination: string, slots: number): Promise<void>;
  /**
   * Starts to hand out tickets. `onTicket` resolves when the ticket is spent. `onHint` is called when a destination may have new work.
   * Stops fetching when the returned function is called; that resolves once every `onTicket` has.
   */
  start(handlers: {
    readonly onTicket: (ticket: Ticket, signal: AbortSignal) => Promise<void>;
    readonly onHint: (destination: string) => void;
  }): Promise<() => Promise<void>>;
}

/** States of a copy, see `custody.md` §3. */
export const COPY_STATES = [
  "waiting",
  "active",
  "delayed",
  "shelved",
  "delivered",
  "dead",
  "cancelled",
  "ignored",
  "expired",
  /** A dead letter that an operator took away; for 24 h it can be restored. */
  "discarded",
] as const;

/** State of one copy. */
export type CopyState = (typeof COPY_STATES)[number];

export interface CopyView {
  readonly destination: string;
  readonly state: CopyState;
  readonly attempts: readonly AttemptRecord[];
  /** Unix ms of the next attempt, for `delayed`. */
  readonly dueAt?: number;
}

/** Everything the store knows of one event, without its body. */
export interface EventView {
  readonly id: string;
  readonly route: string;
  readonly receivedAt: number;
  readonly sequence: number;
  readonly eventType?: string;
  readonly duplicates: number;
  readonly bodyBytes: number;
  readonly copies: readonly CopyView[];
}

export interface DeadLetter {
  readonly eventId: string;
  readonly destination: string;
  readonly route: string;
  readonly diedAt: number;
  readonly failureContext: {
    readonly attempts: number;
    readonly lastError: string;
    readonly lastStatus?: number;
    readonly lastResponse?: string;
  };
}

/** The operator's side. */
export interface Ledger extends Gates, Backlogs {
  event(id: string): Promise<EventView | undefined>;
  body(id: string): Promise<Buffer | undefined>;
  rejections(route: string): Promise<readonly Rejection[]>;
  /** Events with a provider's id, newest first: by mark, and among the headers of the route's newest 1,000 events. Empty: none was accepted, or it is kept no longer. */
  findByProviderId(query: ProviderIdQuery): Promise<readonly ProviderIdMatch[]>;
  /** Secrets that providers handed over in handshakes with a route, newest first. */
  handshakes(route: string): Promise<readonly KeptHandshake[]>;
  /** How many secrets of handshakes with a route had to go within 72 hours because there were too many. */
  droppedHandshakes(route: string): Promise<number>;
  /** Makes the dead copies of an event (or the one named) live again with a fresh budget, under the same id. */
  replay(id: string, destination?: string): Promise<{ readonly replayed: number }>;
}

/** What the monitor last saw. */
export interface CustodyHealth {
  /** The store answers and is writable. */
  readonly up: boolean;
  /** Acked means on disk: `verified` by its settings, `asserted` by the operator, else what is missing. */
  readonly durable: {
    readonly ok: boolean;
    readonly source: "verified" | "asserted" | "volatile";
    readonly problems: readonly string[];
  };
  /** used_memory / maxmemory, 0 when there is no limit. */
  readonly memoryRatio: number;
  /** This process's clock minus the store's, ms. */
  readonly clockOffsetMs: number;
}

/** Why the store did not do it. Decide by `code`, never by the message. */
export type CustodyErrorCode =
  | "Unreachable"
  | "Timeout"
  | "ReadOnly"
  | "NoReplicas"
  | "OutOfMemory"
  | "Loading"
  | "NotDurable"
  | "Denied"
  | "Script";

export class CustodyError extends Error {
  readonly code: CustodyErrorCode;
  constructor(code: CustodyErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CustodyError";
    this.code = code;
  }
}
