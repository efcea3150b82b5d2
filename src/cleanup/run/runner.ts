import { randomUUID } from "node:crypto";
import { isFinished } from "../../api/cleanup-run.ts";
import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { Timers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { RecordConflictError, type RunRecord, type RunRecords } from "../records/port.ts";
import type { VersionEntry } from "../store/port.ts";
import { attempt, attemptBegun, type AttemptResult, type StoreAccess } from "./execute.ts";
import { RunStopped } from "./failure.ts";
import { LeaseWatch } from "./lease.ts";
import { nextStep, type Step } from "./next-step.ts";
import { RunHold } from "./run-hold.ts";
import { boundedStatus, ended, inState, released } from "./status.ts";

export interface CleanupRunnerOptions {
  readonly records: RunRecords;
  /** Opens the store of an attempt. May throw a StoreError. */
  readonly storeOf: (snapshot: CleanupSnapshot) => StoreAccess | Promise<StoreAccess>;
  /** Name of this process in leases. At most 253 characters. */
  readonly holder: string;
  /** Labels of metrics. */
  readonly namespace: string;
  readonly policy: string;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Scopes side by side. Default: 4. */
  readonly concurrency?: number;
  /** Batches of a run that are deleted side by side. Default: 2, as one at a time leaves a store waiting. */
  readonly batchesAtOnce?: number;
  /** Versions that a run has planned, in their order: by the dry run, or by the passes of an Enforce run that delete. */
  readonly onPlanned?: (run: RunRecord, entries: readonly VersionEntry[]) => void;
}

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_BATCHES_AT_ONCE = 2;
/** Longest time without a look at the runs, ms: a change may have been missed. */
const LOOK_EVERY_MS = 30_000;
/** After a write that may have failed. */
const RETRY_MS = 1_000;

/** A run that something is done about. */
interface Busy {
  readonly scope: string;
  readonly done: Promise<void>;
  /** Its store failed a call or does not answer, or the attempt before made no progress. */
  isInTrouble: boolean;
}

/**
 * Carries out the admitted runs of one policy: the oldest first, one of a scope at a time, several scopes side by side. A run that waits for its next attempt takes no place. What it
 * does is all in the records: any number of them may be stopped at any moment, and one that is started later goes on.
 */
export class CleanupRunner {
  readonly #options: CleanupRunnerOptions;
  readonly #leases = new LeaseWatch();
  readonly #stopping = new AbortController();
  /** Scope of the runs that something is done about, by uid. */
  readonly #busy = new Map<string, Busy>();
  /** Versions of records, by uid, that are known to be outdated. */
  readonly #outdated = new Map<string, Set<string>>();
  /** Monotonic ms before which a run is left alone, by uid. */
  readonly #resting = new Map<string, number>();
  #isStarted = false;
  #unsubscribe: () => void = () => undefined;
  #cancelLook: () => void = () => undefined;

  constructor(options: CleanupRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#unsubscribe = this.#options.records.onChange(() => this.#look());
    this.#look();
  }

  /** Finishes the batches under way, gives the leases up and leaves the runs Pending. */
  async stop(): Promise<void> {
    this.#stopping.abort(new RunStopped("Stopping"));
    this.#unsubscribe();
    this.#cancelLook();
    await Promise.all([...this.#busy.values()].map(({ done }) => done));
  }

  /** No run is open that is to be carried out, and none is being carried out. */
  get idle(): boolean {
    return this.#busy.size === 0 && this.#runs().length === 0;
  }

  /** Those to be carried out, oldest first. */
  #runs(): readonly RunRecord[] {
    return this.#options.records
      .open()
      .filter(({ uid, version, status }) => {
        const isAdmitted = status.snapshot !== undefined && status.snapshot.mode !== "RecordOnly";
        return isAdmitted && !isFinished(status) && this.#outdated.get(uid)?.has(version) !== true;
      })
      .toSorted((a, b) => a.receivedAt - b.receivedAt || (a.name < b.name ? -1 : 1));
  }

  /** Begins what can be begun; to be called whenever something changed. */
  #look(): void {
    if (this.#stopping.signal.aborted || !this.#isStarted) return;
    this.#forget();
    let wait = LOOK_EVERY_MS;
    for (const run of this.#runs()) {
      const step = this.#stepOf(run);
      if (step.type === "wait") wait = Math.min(wait, step.ms ?? LOOK_EVERY_MS);
      else if (this.#isFree(run, step)) this.#begin(run, step);
    }
    this.#cancelLook();
    this.#cancelLook = this.#options.timers.after(wait, () => this.#look());
  }

  #stepOf(run: RunRecord): Step {
    const { records, timers } = this.#options;
    if (this.#busy.has(run.uid)) return { type: "wait" };
    const now = timers.monotonic();
    const rest = (this.#resting.get(run.uid) ?? now) - now;
    const freeIn = Math.max(rest, this.#leases.freeIn(run, now));
    return nextStep(run, { policy: records.policy(), now: timers.now(), freeIn });
  }

  /**
   * Whether there is a place, and no other run of its scope is carried out. What needs no store needs no place, and one run whose store fails has a place of its own: it spends its
   * time waiting, which must not be at the expense of the others.
   */
  #isFree(run: RunRecord, { type }: Step): boolean {
    if (type !== "attempt") return true;
    const busy = [...this.#busy.values()];
    const places = this.#options.concurrency ?? DEFAULT_CONCURRENCY;
    const isOneMore = wasInTrouble(run) || busy.some(({ isInTrouble }) => isInTrouble);
    return busy.length < places + (isOneMore ? 1 : 0) && busy.every(({ scope }) => scope !== run.spec.scope);
  }

  #begin(run: RunRecord, step: Exclude<Step, { type: "wait" }>): void {
    // Not before it counts as begun: a write may call back.
    const done = Promise.resolve()
      .then(() => (step.type === "attempt" ? this.#attempt(run, step.snapshot) : this.#write(run, step)))
      .finally(() => {
        this.#busy.delete(run.uid);
        this.#look();
      });
    this.#busy.set(run.uid, { scope: run.spec.scope, done, isInTrouble: wasInTrouble(run) });
  }

  async #attempt(run: RunRecord, snapshot: CleanupSnapshot): Promise<void> {
    const { timers, holder, logger, storeOf, batchesAtOnce = DEFAULT_BATCHES_AT_ONCE } = this.#options;
    const token = randomUUID();
    this.#leases.issued(token);
    const records = this.#trackedRecords();
    let hold: RunHold;
    try {
      hold = await RunHold.take(run, () => attemptBegun(run, timers.now()), { records, timers, holder, token });
    } catch (error) {
      return this.#notWritten(run, error);
    }
    const about = { run: run.name, scope: run.spec.scope, mode: snapshot.mode };
    logger.info({ ...about, attempt: hold.status.attempts }, "cleanup: attempt begins");
    const result = await attempt({
      hold,
      records,
      snapshot,
      storeOf,
      timers,
      batchesAtOnce,
      stopping: this.#stopping.signal,
      ...this.#observers(run, snapshot),
    });
    this.#ended(about, result, hold);
  }

  #observers(run: RunRecord, { mode }: CleanupSnapshot) {
    const { metrics, namespace, policy, onPlanned } = this.#options;
    const labels = { namespace, policy };
    return {
      onPlanned: (entries: readonly VersionEntry[]) => onPlanned?.(run, entries),
      onOutcome: (outcome: string, number: number) => metrics.cleanupObjects.inc({ ...labels, mode, outcome }, number),
      onBatch: (ms: number) => metrics.cleanupBatchDuration.observe(labels, ms / 1_000),
      onStoreError: (code: string) => {
        metrics.cleanupStoreErrors.inc({ ...labels, code });
        this.#inTrouble(run);
      },
      onStoreSilent: () => this.#inTrouble(run),
    };
  }

  /** Frees its place for another one. */
  #inTrouble({ uid }: RunRecord): void {
    const busy = this.#busy.get(uid);
    if (busy === undefined || busy.isInTrouble) return;
    busy.isInTrouble = true;
    this.#look();
  }

  #ended(about: Readonly<Record<string, string>>, result: AttemptResult, hold: RunHold): void {
    const { metrics, namespace, policy, logger } = this.#options;
    metrics.cleanupAttempts.inc({ namespace, policy, result });
    const { phase, reason, counters, nextAttemptAt } = hold.status;
    const level = result === "completed" || result === "interrupted" ? "info" : "warn";
    logger[level]({ ...about, result, phase, reason, counters, nextAttemptAt }, "cleanup: attempt ended");
  }

  /** Ends a run, or makes it wait, that nobody works on. */
  async #write(run: RunRecord, step: Extract<Step, { type: "end" | "pend" }>): Promise<void> {
    const now = this.#options.timers.now();
    const state = step.type === "end" ? step.state : { phase: "Pending" as const, reason: "Suspended", message: "" };
    const status =
      step.type === "end" ? ended(run, run.status, state, now) : inState(run, released(run.status), state, now);
    try {
      await this.#trackedRecords().write(run, boundedStatus(status));
      this.#options.logger.info(
        { run: run.name, scope: run.spec.scope, phase: state.phase, reason: state.reason },
        "cleanup: run ended or put off",
      );
    } catch (error) {
      this.#notWritten(run, error);
    }
  }

  #notWritten(run: RunRecord, error: unknown): void {
    const { logger, timers } = this.#options;
    this.#resting.set(run.uid, timers.monotonic() + RETRY_MS);
    logger.warn(
      { run: run.name, error: error instanceof Error ? error.name : "unknown" },
      "cleanup: a run could not be written to",
    );
  }

  /** Writes, and remembers which versions of records are outdated by it: what is known of the runs may lag behind. */
  #trackedRecords(): RunRecords {
    const { records } = this.#options;
    return {
      open: () => records.open(),
      policy: () => records.policy(),
      onChange: (listener) => records.onChange(listener),
      write: async (run, status) => {
        try {
          const written = await records.write(run, status);
          this.#markOutdated(run);
          return written;
        } catch (error) {
          if (error instanceof RecordConflictError) this.#markOutdated(run);
          throw error;
        }
      },
    };
  }

  #markOutdated({ uid, version }: RunRecord): void {
    const versions = this.#outdated.get(uid) ?? new Set();
    versions.add(version);
    this.#outdated.set(uid, versions);
    // Lagging behind by more than this means a conflict, and no harm.
    for (const oldest of versions) {
      if (versions.size <= MOST_OUTDATED) break;
      versions.delete(oldest);
    }
  }

  /** Forgets runs that are gone. */
  #forget(): void {
    const open = new Set(this.#options.records.open().map(({ uid }) => uid));
    this.#leases.keepOnly(open);
    for (const map of [this.#outdated, this.#resting])
      for (const uid of map.keys()) if (!open.has(uid) && !this.#busy.has(uid)) map.delete(uid);
  }
}

function wasInTrouble({ status: { attemptsWithoutProgress = 0 } }: RunRecord): boolean {
  return attemptsWithoutProgress > 0;
}

const MOST_OUTDATED = 256;

export type { StoreAccess } from "./execute.ts";
