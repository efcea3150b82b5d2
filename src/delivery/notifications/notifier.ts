import type { NoticeReader, Notices, TakenNotice } from "../../custody/notices.ts";
import { CustodyError } from "../../custody/port.ts";
import { systemTimers, sleep, type Timers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { noticeRetryMs } from "./notice-retry.ts";
import type { NoticeChannel, NoticeOutcome } from "./outcome.ts";

/** A notice is held so long by whoever tells it, ms; then another process has it. */
const HOLD_MS = 60_000;
/** Nothing is begun that could outlast the hold: a webhook has 15 s, a mail 30 s. */
const BEGIN_WITHIN_MS = 25_000;

/** How a namespace's notices are told by one channel. */
export interface NoticeRoundOptions {
  readonly namespace: string;
  readonly reader: NoticeReader;
  readonly notices: Notices;
  readonly channel: NoticeChannel;
  /** Most notices of a round. */
  readonly limit: number;
  /** How long they are held, ms. Default 60,000. */
  readonly holdMs?: number;
  readonly logger: Logger;
  readonly metrics?: Metrics | undefined;
  readonly timers?: Timers;
  /** Uniform in [0, 1). */
  readonly random?: () => number;
}

/**
 * Asks once for notices and tells them: settles those that are told or given up, postpones the others. A process that ends in between leaves them held; they
 * are told again when that is over, under the same id.
 *
 * @returns whether there may be more at once
 * @throws CustodyError when the store does not answer
 */
export async function noticeRound(options: NoticeRoundOptions, signal: AbortSignal): Promise<boolean> {
  const { notices, reader, channel, limit, holdMs = HOLD_MS, timers = systemTimers } = options;
  if (!channel.isWanted()) return false;
  const beginBefore = timers.monotonic() + BEGIN_WITHIN_MS;
  const taken = await notices.take(reader, limit, holdMs);
  if (taken.length === 0) return false;
  await channel.tell(taken, { beginBefore, signal, report: (one, outcome) => report(options, one, outcome) });
  return taken.length === limit;
}

/** @returns ms until it is handed out again */
async function report(
  options: NoticeRoundOptions,
  one: TakenNotice,
  outcome: NoticeOutcome,
): Promise<number | undefined> {
  const { notices, reader } = options;
  const { id } = one.notice;
  const againMs = outcome.result === "deferred" ? outcome.delayMs : retryMs(options, one, outcome);
  tellWhat(options, one, outcome, againMs);
  if (againMs === undefined) await notices.settle(reader, [id]);
  else await notices.postpone(reader, id, againMs);
  return againMs;
}

function retryMs(options: NoticeRoundOptions, { notice, attempt }: TakenNotice, outcome: NoticeOutcome) {
  const { timers = systemTimers, random = Math.random } = options;
  if (outcome.result !== "failed") return undefined;
  return noticeRetryMs({ at: notice.at, attempt, atLeastMs: outcome.atLeastMs }, timers.now(), random());
}

/** Counters and log lines. */
function tellWhat(
  { namespace, reader: channel, logger, metrics }: NoticeRoundOptions,
  { notice, attempt }: TakenNotice,
  outcome: NoticeOutcome,
  delayMs: number | undefined,
): void {
  const { id, kind, destination } = notice;
  const count = (result: string) => metrics?.destinationNotices.inc({ namespace, kind, channel, result });
  if (outcome.result === "told") count("told");
  if (outcome.result !== "failed" && outcome.result !== "refused") return;
  const fields = { namespace, destination, notice: id, kind, channel, attempt, code: outcome.code };
  count(delayMs === undefined ? "given_up" : "retried");
  if (delayMs === undefined) logger.error(fields, "a notice about a destination is given up: nobody was told");
  else logger.warn({ ...fields, delayMs }, "a notice about a destination could not be told; trying again");
}

/** A round is made this often, ms. */
const INTERVAL_MS = 2_000;

export interface NotifierOptions {
  /** One round over all that is to be looked at. @returns whether the next may follow at once */
  readonly round: (signal: AbortSignal) => Promise<boolean>;
  readonly intervalMs?: number;
  readonly timers?: Timers;
  readonly logger: Logger;
}

/** Makes rounds until the signal fires. What is under way then is finished. A round that fails is made again. */
export async function notify(options: NotifierOptions, signal: AbortSignal): Promise<void> {
  const { round, intervalMs = INTERVAL_MS, timers = systemTimers, logger } = options;
  let isFailing = false;
  while (!signal.aborted) {
    let isMore = false;
    try {
      isMore = await round(signal);
      isFailing = false;
    } catch (error) {
      const fields = error instanceof CustodyError ? { code: error.code } : { err: error };
      if (!isFailing) logger.warn(fields, "notices about destinations cannot be read or settled; trying again");
      isFailing = true;
    }
    if (!isMore) await sleep(timers, intervalMs, signal);
  }
}
