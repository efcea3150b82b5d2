import type { GateReason } from "./gate.ts";

/**
 * What is to be told of a destination. `Failing`: the first time that its circuit opens, or that it fails so often in a row. `HalfWay`: half of what disables it, in
 * number and in time. `Disabled`. `Recovered`: it took a message again, or was enabled, after one of the others was told.
 */
export type NoticeKind = "Failing" | "HalfWay" | "Disabled" | "Recovered";

/** One notice. Written by the script that changes the destination's gate, so that none is lost and none is written twice. */
export interface Notice {
  /** Grows; unique in the namespace. Repetitions of a notice bear the same. */
  readonly id: string;
  readonly kind: NoticeKind;
  readonly destination: string;
  /** Unix ms, the store's clock. */
  readonly at: number;
  readonly reason: GateReason;
  readonly consecutiveFailures: number;
  /** Unix ms of the first of them. */
  readonly failingSince?: number;
  /** Status of the last answer; absent when there was none. */
  readonly lastStatus?: number;
  /** Code of the last attempt's fault, as in the log of deliveries; never text of a peer. */
  readonly lastError?: string;
  /** Copies that wait for it: ready, replayed and delayed ones. */
  readonly parked: number;
}

/** Who takes notices: each reads all of them, at its own pace. `events`: the controller. `webhook`: workers. `email`: whoever has the SMTP server. */
export type NoticeReader = "events" | "webhook" | "email";

/** A notice in the hands of a reader. */
export interface TakenNotice {
  readonly notice: Notice;
  /** 1 at the first time. */
  readonly attempt: number;
}

/** Notices of one namespace. The newest 10,000 are kept until every reader that ever asked has settled them, at most 7 days. */
export interface Notices {
  /**
   * At most `limit` notices that nobody of this reader's kind has settled or holds; they are held for `holdMs` and then given out again.
   * A reader that asks for the first time begins with the next notice.
   */
  take(reader: NoticeReader, limit: number, holdMs: number): Promise<readonly TakenNotice[]>;
  /** Told, or given up: not given out again. */
  settle(reader: NoticeReader, ids: readonly string[]): Promise<void>;
  /** Give it out again after `delayMs`, whoever holds it; no later one of its destination is given out before that. */
  postpone(reader: NoticeReader, id: string, delayMs: number): Promise<void>;
}
