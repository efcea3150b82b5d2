import type { CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import { sleep, type Timers } from "../../lib/timers.ts";
import { RecordConflictError, type RunRecord, type RunRecords } from "../records/port.ts";
import { RunFailure, RunStopped } from "./failure.ts";
import { LOST_AFTER_MS, RENEW_AFTER_MS } from "./lease.ts";
import { boundedStatus, released, timestamp } from "./status.ts";

export interface HoldOptions {
  readonly records: RunRecords;
  readonly timers: Timers;
  readonly holder: string;
  /** Of this hold only. */
  readonly token: string;
}

type Change = (status: CleanupRunStatus) => CleanupRunStatus;

/** A write that may have failed is repeated after this, ms. */
const REPEAT_AFTER_MS = 1_000;

/**
 * One process's hold on a run: the only way to write its status while it is carried out. Renews its lease by itself, and is lost when somebody else wrote or when no write got through
 * for {@link LOST_AFTER_MS}.
 */
export class RunHold {
  readonly #options: HoldOptions;
  readonly #lost = new AbortController();
  #record: RunRecord;
  #wanted: CleanupRunStatus;
  #written: CleanupRunStatus | undefined;
  /** Monotonic ms at which the last write was sent that got through. */
  #confirmedAt: number;
  /** The same by the wall clock, Unix ms. */
  #confirmedOn: number;
  #writing: Promise<void> = Promise.resolve();
  #leased = true;
  #cancelTimers: () => void = () => undefined;

  private constructor(record: RunRecord, options: HoldOptions) {
    this.#record = record;
    this.#options = options;
    this.#wanted = record.status;
    this.#confirmedAt = options.timers.monotonic();
    this.#confirmedOn = options.timers.now();
  }

  /**
   * Takes a run whose lease is free, by a first write.
   * @throws {@link RunStopped} `LeaseLost` when somebody else was faster, or no write got through
   */
  static async take(record: RunRecord, change: Change, options: HoldOptions): Promise<RunHold> {
    const hold = new RunHold(record, options);
    hold.#setTimers();
    await hold.update(change);
    return hold;
  }

  get record(): RunRecord {
    return this.#record;
  }

  /** As it is to be; it may not be written yet. */
  get status(): CleanupRunStatus {
    return this.#wanted;
  }

  /** Fires when the run is held no more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether nobody else can hold the run now. While its machine sleeps, only the wall clock goes on; that one is set forward does no harm: the run is taken anew. */
  get isHeld(): boolean {
    const { timers } = this.#options;
    const since = Math.max(timers.monotonic() - this.#confirmedAt, timers.now() - this.#confirmedOn);
    return !this.lost.aborted && since < LOST_AFTER_MS;
  }

  /** Ms since the last write that got through. */
  get writtenAgo(): number {
    return this.#options.timers.monotonic() - this.#confirmedAt;
  }

  /** Changes the status; it is written by the next write. */
  change(change: Change): void {
    this.#wanted = change(this.#wanted);
  }

  /**
   * Writes the status, changed.
   * @throws {@link RunStopped} `LeaseLost`
   * @throws {@link RunFailure} `StatusTooLarge`
   */
  async update(change: Change): Promise<void> {
    this.change(change);
    await this.#save();
  }

  /** Writes the last status and gives the run up. @param due what is due of the run later */
  async end(change: Change, due: Pick<CleanupRunStatus, "nextAttemptAt"> = {}): Promise<void> {
    this.#leased = false;
    this.change((status) => ({ ...released(change(status)), ...due }));
    await this.#save();
    this.abandon();
  }

  /** Gives the run up without a word: its lease runs out. */
  abandon(): void {
    this.#cancelTimers();
    this.#lose();
  }

  async #save(): Promise<void> {
    const wanted = this.#wanted;
    await this.#enqueue(() => this.#written === wanted);
  }

  #enqueue(isDone: () => boolean): Promise<void> {
    const turn = this.#writing.then(() => (isDone() ? undefined : this.#write()));
    this.#writing = turn.catch(() => undefined);
    return turn;
  }

  async #write(): Promise<void> {
    const { records, timers } = this.#options;
    for (;;) {
      if (!this.isHeld) throw this.#lose();
      const wanted = this.#wanted;
      const sentAt = timers.monotonic();
      const sentOn = timers.now();
      try {
        this.#record = await this.#unlessLost(records.write(this.#record, boundedStatus(this.#leasedStatus(wanted))));
        this.#written = wanted;
        this.#confirmedAt = sentAt;
        this.#confirmedOn = sentOn;
        this.#setTimers();
        return;
      } catch (error) {
        if (error instanceof RunFailure) throw error;
        if (error instanceof RecordConflictError || this.lost.aborted) throw this.#lose();
        await sleep(timers, REPEAT_AFTER_MS, this.lost);
      }
    }
  }

  #leasedStatus(status: CleanupRunStatus): CleanupRunStatus {
    if (!this.#leased) return status;
    const { holder, token, timers } = this.#options;
    return { ...status, lease: { holder, token, renewedAt: timestamp(timers.now()) } };
  }

  /** A write that hangs does not keep who waits for it once the run is lost. */
  #unlessLost<T>(write: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(this.lost.reason);
      if (this.lost.aborted) stop();
      this.lost.addEventListener("abort", stop, { once: true });
      write.then(resolve, reject).finally(() => this.lost.removeEventListener("abort", stop));
    });
  }

  #setTimers(): void {
    this.#cancelTimers();
    if (this.lost.aborted) return;
    const { timers } = this.#options;
    const renew = timers.after(RENEW_AFTER_MS, () => {
      this.#enqueue(() => false).catch(() => undefined);
    });
    const lose = timers.after(this.#confirmedAt + LOST_AFTER_MS - timers.monotonic(), () => this.#lose());
    this.#cancelTimers = () => {
      renew();
      lose();
    };
  }

  #lose(): RunStopped {
    const lost = new RunStopped("LeaseLost");
    this.#cancelTimers();
    if (!this.lost.aborted) this.#lost.abort(lost);
    return lost;
  }
}
