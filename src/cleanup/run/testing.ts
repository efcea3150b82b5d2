import type { CleanupRunSpec, CleanupRunStatus, CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import { type Timers } from "../../lib/timers.ts";
import { silentLogger } from "../../observability/logger.ts";
import { createMetrics } from "../../observability/metrics.ts";
import type { RunRecord } from "../records/port.ts";
import type { VersionEntry } from "../store/port.ts";
import { MemoryRecords } from "../testing/memory-records.ts";
import { MemoryStore } from "../testing/memory-store.ts";
import { CleanupRunner, type CleanupRunnerOptions } from "./runner.ts";

const DAY = 86_400_000;
export const POLICY_UID = "policy-uid";

/** Wall clock of tests that use the machine's timers: nothing waits for it. */
export const NOW = Date.UTC(2030, 0, 1);
export const CUTOFF = NOW - 30 * DAY;
/** Before and after {@link CUTOFF}. */
export const OLD = CUTOFF - DAY;
export const YOUNG = CUTOFF + DAY;

export function snapshot(change: Partial<CleanupSnapshot> = {}): CleanupSnapshot {
  return {
    generation: 1,
    digest: "0123456789abcdef",
    s3: { region: "us-east-1", bucket: "data", forcePathStyle: true, checksum: "Auto" },
    prefix: "warehouses/wh-1/",
    mode: "Enforce",
    exclusions: {
      tags: [],
      objectLock: true,
      legalHold: true,
      manifests: [],
      protectedPrefixes: [],
      maxAge: "60s",
    },
    batchSize: 200,
    maxAttempts: 3,
    runDeadline: "24h",
    safety: { maxDeletesPerRun: 100_000, maxDeletePercent: 100 },
    ...change,
  };
}

export interface NewRun {
  readonly name?: string;
  readonly scope?: string;
  readonly snapshot?: Partial<CleanupSnapshot>;
  readonly spec?: Partial<CleanupRunSpec>;
  readonly status?: Partial<CleanupRunStatus>;
  readonly receivedAt?: number;
}

/** A store, records and runners on them, all in memory. */
export class World {
  readonly timers: Timers;
  readonly store: MemoryStore;
  readonly records = new MemoryRecords(POLICY_UID);
  readonly metrics = createMetrics();
  readonly planned: VersionEntry[] = [];
  /** How often something to delete with was handed out. */
  deleters = 0;
  #holders = 0;

  constructor(timers: Timers) {
    this.timers = timers;
    this.store = new MemoryStore({ now: () => timers.now(), firstAt: OLD });
  }

  addRun({ name = "run-1", scope = "wh-1", receivedAt = this.timers.now(), ...change }: NewRun = {}): RunRecord {
    const prefix = `warehouses/${scope}/`;
    return this.records.add(
      name,
      {
        policyRef: { name: "policy", uid: POLICY_UID },
        runId: name,
        scope,
        cutoff: new Date(CUTOFF).toISOString(),
        ...change.spec,
      },
      {
        phase: "Pending",
        admittedAt: new Date(this.timers.now()).toISOString(),
        snapshot: snapshot({ prefix, ...change.snapshot }),
        ...change.status,
      },
      receivedAt,
    );
  }

  /** Its runs delete one batch at a time unless it is told otherwise: then a test can tell what came before what. */
  runner(change: Partial<CleanupRunnerOptions> = {}): CleanupRunner {
    this.#holders += 1;
    const { store } = this;
    return new CleanupRunner({
      records: this.records,
      storeOf: () => ({
        store,
        deleter: () => {
          this.deleters += 1;
          return store.deleter();
        },
      }),
      holder: `cleaner-${this.#holders}`,
      namespace: "team",
      policy: "policy",
      timers: this.timers,
      logger: silentLogger,
      metrics: this.metrics,
      batchesAtOnce: 1,
      onPlanned: (_run, entries) => {
        this.planned.push(...entries);
      },
      ...change,
    });
  }

  status(name = "run-1"): CleanupRunStatus {
    return this.records.run(name).status;
  }

  /** `key@version`, in the order of a listing. */
  left(): string[] {
    return this.store.all().map(name);
  }

  /** How often something was asked of the store. */
  calls(verb: MemoryStore["calls"][number]["verb"]): number {
    return this.store.calls.filter((call) => call.verb === verb).length;
  }
}

export const name = ({ key, versionId }: { readonly key: string; readonly versionId: string }): string =>
  `${key}@${versionId}`;
