import type { RunState } from "../../api/cleanup-run-conditions.ts";
import { backoffMs } from "../../api/cleanup-attempts.ts";
import type { CleanupRunStatus, CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { Timers } from "../../lib/timers.ts";
import type { RunRecords } from "../records/port.ts";
import type { ObjectStore, VersionDeleter, VersionEntry } from "../store/port.ts";
import { failureOf, type RunFailure, RunStopped } from "./failure.ts";
import { StoreLimiter } from "./limiter.ts";
import { deadlineOf, DEADLINE_MESSAGE, exhausted } from "./next-step.ts";
import { type Completed, dryRun, enforce } from "./passes.ts";
import type { RunHold } from "./run-hold.ts";
import { type Journal, scopeWork } from "./scope-work.ts";
import { ended, inState, stageOf, timestamp, withError, withProgress } from "./status.ts";

/** The store that a snapshot names. */
export interface StoreAccess {
  /** Closed when the attempt ends. */
  readonly store: ObjectStore;
  /** Called for Enforce runs only, once an attempt. */
  readonly deleter: () => VersionDeleter;
}

export interface AttemptOptions {
  readonly hold: RunHold;
  readonly records: RunRecords;
  readonly snapshot: CleanupSnapshot;
  /** May throw a StoreError. */
  readonly storeOf: (snapshot: CleanupSnapshot) => StoreAccess | Promise<StoreAccess>;
  readonly timers: Timers;
  readonly batchesAtOnce: number;
  /** Fires when the process stops. */
  readonly stopping: AbortSignal;
  readonly onPlanned: (entries: readonly VersionEntry[]) => void;
  readonly onOutcome: (outcome: string, number: number) => void;
  readonly onBatch: (ms: number) => void;
  readonly onStoreError: (code: string) => void;
  /** The store has left calls unanswered for a while. */
  readonly onStoreSilent: () => void;
}

/** How an attempt ended. `lost`: the run is somebody else's, or nobody's, and nothing was written. */
export type AttemptResult = "completed" | "failed" | "retried" | "interrupted" | "lost";

/** The status of a run that an attempt begins. @param now Unix ms */
export function attemptBegun(record: RunHold["record"], now: number): CleanupRunStatus {
  const { nextAttemptAt: _, ...status } = record.status;
  const { attempts = 0, attemptsWithoutProgress = 0, startedAt = timestamp(now) } = status;
  const state: RunState = { phase: "Running", reason: "Running", message: "" };
  return {
    ...inState(record, status, state, now),
    startedAt,
    attempts: attempts + 1,
    // Counted before it is known, so that an attempt that ends with its process counts as well.
    attemptsWithoutProgress: attemptsWithoutProgress + 1,
  };
}

/** One attempt of a run that is held: goes on where the one before ended, and writes how it ended. Never rejects. */
export async function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const { hold } = options;
  const stop = new StopWatch(options);
  try {
    const end = await carryOut(options, stop).catch((error: unknown) => stop.reason ?? error);
    return await conclude(options, end);
  } catch {
    // The end could not be written: the record shows the attempt as it was, and its lease runs out.
    return "lost";
  } finally {
    stop.end();
    hold.abandon();
  }
}

async function carryOut(options: AttemptOptions, stop: StopWatch): Promise<Completed> {
  const { hold, snapshot, timers, storeOf, batchesAtOnce } = options;
  const access = await storeOf(snapshot);
  try {
    const work = scopeWork({
      store: access.store,
      snapshot,
      cutoff: Date.parse(hold.record.spec.cutoff),
      timers,
      limiter: new StoreLimiter({ timers, onError: options.onStoreError, onSilence: options.onStoreSilent }),
      batchesAtOnce,
      signal: stop.signal,
      journal: runJournal(hold),
      onPlanned: options.onPlanned,
      onOutcome: options.onOutcome,
    });
    const stage = stageOf(hold.status);
    if (snapshot.mode !== "Enforce") return await dryRun(work, stage);
    const mayDelete = () => {
      if (stop.reason !== undefined) throw stop.reason;
      if (!hold.isHeld) throw new RunStopped("LeaseLost");
    };
    return await enforce(
      { ...work, deleter: access.deleter(), hardSignal: hold.lost, mayDelete, onBatch: options.onBatch },
      stage,
    );
  } finally {
    access.store.close();
  }
}

/** What passes say of their progress is written at most this often, ms, unless they wait for it. */
const NOTE_EVERY_MS = 2_000;

function runJournal(hold: RunHold): Journal {
  const begun = progressOf(hold.status);
  const changed: (...progress: Parameters<Journal["moved"]>) => (status: CleanupRunStatus) => CleanupRunStatus =
    (position, tally) => (status) => {
      const next = withProgress(status, position, tally);
      return progressOf(next) === begun ? next : { ...next, attemptsWithoutProgress: 0 };
    };
  return {
    moved(position, tally) {
      hold.change(changed(position, tally));
      if (hold.writtenAgo >= NOTE_EVERY_MS) hold.update((status) => status).catch(() => undefined);
    },
    commit: (position, tally) => hold.update(changed(position, tally)),
  };
}

/** Differs when at least a page or a version has been settled. */
function progressOf({ checkpoint, counters }: CleanupRunStatus): string {
  const { pass, round = 1, lastKey } = checkpoint ?? {};
  return JSON.stringify([pass, round, lastKey, counters?.deleted ?? 0]);
}

/** Why an attempt is to end from outside: its run is cancelled or lost, its policy suspended or gone, its time up, its process stopping. */
class StopWatch {
  readonly #controller = new AbortController();
  readonly #undo: (() => void)[] = [];

  constructor({ hold, records, snapshot, timers, stopping }: AttemptOptions) {
    const stop = (reason: RunStopped) => this.#controller.abort(reason);
    const listen = (signal: AbortSignal, reason: () => RunStopped) => {
      const onAbort = () => stop(reason());
      if (signal.aborted) onAbort();
      signal.addEventListener("abort", onAbort);
      this.#undo.push(() => signal.removeEventListener("abort", onAbort));
    };
    listen(hold.lost, () => new RunStopped("LeaseLost"));
    listen(stopping, () => new RunStopped("Stopping"));
    const look = () => {
      const code = outsideReason(hold, records);
      if (code !== undefined) stop(new RunStopped(code));
    };
    this.#undo.push(records.onChange(look));
    look();
    const left = deadlineOf(hold.record, snapshot) - timers.now();
    this.#undo.push(timers.after(left, () => stop(new RunStopped("DeadlineExceeded"))));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): RunStopped | undefined {
    const { aborted, reason } = this.signal;
    return aborted ? (reason as RunStopped) : undefined;
  }

  end(): void {
    for (const undo of this.#undo) undo();
  }
}

function outsideReason({ record }: RunHold, records: RunRecords): "PolicyGone" | "Suspended" | "Cancelled" | undefined {
  const policy = records.policy();
  if (policy === undefined || policy.uid !== record.spec.policyRef.uid) return "PolicyGone";
  if (policy.suspended) return "Suspended";
  const isCancelled = records.open().some(({ uid, spec }) => uid === record.uid && spec.cancel === true);
  return isCancelled ? "Cancelled" : undefined;
}

/** Writes how an attempt ended. */
async function conclude(options: AttemptOptions, end: unknown): Promise<AttemptResult> {
  if (end instanceof RunStopped) return await concludeStopped(options, end);
  if (isCompleted(end)) {
    await finish(options, end);
    return "completed";
  }
  return await concludeFailed(options, failureOf(end));
}

function isCompleted(end: unknown): end is Completed {
  return typeof end === "object" && end !== null && "phase" in end;
}

async function finish({ hold, timers }: AttemptOptions, state: RunState, failure?: RunFailure): Promise<void> {
  const now = timers.now();
  await hold.end((status) =>
    ended(hold.record, failure === undefined ? status : withError(status, failure, now), state, now),
  );
}

async function concludeStopped(options: AttemptOptions, { code }: RunStopped): Promise<AttemptResult> {
  const { hold, timers } = options;
  if (code === "LeaseLost") return "lost";
  if (code === "Cancelled") {
    await finish(options, { phase: "Cancelled", reason: "Cancelled", message: "spec.cancel is set" });
    return "interrupted";
  }
  if (code === "DeadlineExceeded") {
    await finish(options, { phase: "Failed", reason: code, message: DEADLINE_MESSAGE });
    return "failed";
  }
  // Nobody's fault: it does not count.
  await hold.end((status) => {
    const { attempts = 1, attemptsWithoutProgress = 1 } = status;
    const pending = inState(hold.record, status, { phase: "Pending", reason: code, message: "" }, timers.now());
    return { ...pending, attempts: attempts - 1, attemptsWithoutProgress: Math.max(0, attemptsWithoutProgress - 1) };
  });
  return "interrupted";
}

async function concludeFailed(options: AttemptOptions, failure: RunFailure): Promise<AttemptResult> {
  const { hold, timers, snapshot } = options;
  const { code, message, retryable } = failure;
  const { attemptsWithoutProgress = 0 } = hold.status;
  if (!retryable) {
    await finish(options, { phase: "Failed", reason: code, message }, failure);
    return "failed";
  }
  if (attemptsWithoutProgress >= snapshot.maxAttempts) {
    const last = `${exhausted(attemptsWithoutProgress)}; the last: ${code}: ${message}`;
    await finish(options, { phase: "Failed", reason: "AttemptsExhausted", message: last }, failure);
    return "failed";
  }
  const now = timers.now();
  await hold.end(
    (status) => inState(hold.record, withError(status, failure, now), { phase: "Pending", reason: code, message }, now),
    {
      nextAttemptAt: timestamp(now + backoffMs(attemptsWithoutProgress)),
    },
  );
  return "retried";
}
