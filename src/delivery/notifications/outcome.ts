import type { TakenNotice } from "../../custody/notices.ts";

/** What became of telling one notice. Codes are ours or an error's, never text of a peer. */
export type NoticeOutcome =
  /** The one who is to be told took it. */
  | { readonly result: "told" }
  /** Nobody is to be told by this channel. */
  | { readonly result: "unwanted" }
  /** Not tried, for now: neither counted nor logged. */
  | { readonly result: "deferred"; readonly delayMs: number }
  /** It failed. `atLeastMs`: the other side asked for a pause. */
  | { readonly result: "failed"; readonly code: string; readonly atLeastMs?: number }
  /** It failed for good. */
  | { readonly result: "refused"; readonly code: string };

/**
 * To be called once for each notice, as soon as it is known what became of it.
 * @returns ms until it is handed out again; `undefined` when it is not
 */
export type Report = (taken: TakenNotice, outcome: NoticeOutcome) => Promise<number | undefined>;

/** A way to tell somebody. */
export interface NoticeChannel {
  /** Whether anybody is to be told by it at all: the store is not asked otherwise. */
  readonly isWanted: () => boolean;
  /** Tries each notice once; what cannot begin in time is deferred. @throws CustodyError when a report was not taken */
  readonly tell: (taken: readonly TakenNotice[], context: TellContext) => Promise<void>;
}

export interface TellContext {
  readonly report: Report;
  /** What has not begun by then could outlast the hold: monotonic ms. */
  readonly beginBefore: number;
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
}
