import type { CleanupRunStatus, CleanupSnapshot } from "../../../src/api/generated/cleanup-run.ts";
import { isFinished } from "../../../src/api/cleanup-run.ts";
import type { StoreAccess } from "../../../src/cleanup/run/execute.ts";
import { CleanupRunner } from "../../../src/cleanup/run/runner.ts";
import { MemoryRecords } from "../../../src/cleanup/testing/memory-records.ts";
import type { VersionId } from "../../../src/cleanup/store/port.ts";
import { createS3Store } from "../../../src/cleanup/store/s3/s3-store.ts";
import { systemTimers } from "../../../src/lib/timers.ts";
import { silentLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import type { TestBucket } from "./bucket.ts";

const POLICY = "policy-uid";
/** Where the objects of the tests' scope lie. */
export const PREFIX = "warehouses/wh-1/";

export interface RunOptions extends Omit<Partial<CleanupSnapshot>, "s3" | "exclusions"> {
  /** Unix ms. */
  readonly cutoff: number;
  readonly s3?: Partial<CleanupSnapshot["s3"]>;
  readonly exclusions?: Partial<CleanupSnapshot["exclusions"]>;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Stands between the run and the store: what it returns is used instead. */
  readonly between?: (access: StoreAccess) => StoreAccess;
  /** Where the run goes on from. */
  readonly status?: Partial<CleanupRunStatus>;
}

/** How a run ended, and what it planned: `key@version`, in its order. */
export interface Outcome {
  readonly status: CleanupRunStatus;
  readonly planned: readonly string[];
}

/** Carries out one run over a bucket to its end, as a cleaner does, with its record in memory. */
export async function carryOut(bucket: TestBucket, options: RunOptions): Promise<Outcome> {
  const { cutoff, between = (access) => access, status = {} } = options;
  const records = new MemoryRecords(POLICY);
  const now = Date.now();
  const spec = {
    policyRef: { name: "p", uid: POLICY },
    runId: "run-1",
    scope: "wh-1",
    cutoff: new Date(cutoff).toISOString(),
  };
  const begun = {
    phase: "Pending",
    admittedAt: new Date(now).toISOString(),
    snapshot: snapshotOf(bucket, options),
  } as const;
  records.add("run-1", spec, { ...begun, ...status }, now);
  const planned: string[] = [];
  const runner = new CleanupRunner({
    records,
    storeOf: ({ s3 }) => between(createS3Store({ s3, credentials: options.credentials ?? bucket.location })),
    holder: "cleaner",
    namespace: "team",
    policy: "p",
    timers: systemTimers,
    logger: silentLogger,
    metrics: createMetrics(),
    onPlanned: (_run, entries) => void planned.push(...entries.map(nameOf)),
  });
  const finished = new Promise<void>((resolve) => {
    const stop = records.onChange(() => {
      if (!isFinished(records.run("run-1").status)) return;
      stop();
      resolve();
    });
  });
  runner.start();
  await finished;
  await runner.stop();
  return { status: records.run("run-1").status, planned };
}

/** `key@version`. */
export const nameOf = ({ key, versionId }: VersionId): string => `${key}@${versionId}`;

function snapshotOf(bucket: TestBucket, options: RunOptions): CleanupSnapshot {
  const {
    cutoff: _cutoff,
    credentials: _credentials,
    between: _between,
    status: _status,
    s3,
    exclusions,
    ...change
  } = options;
  return {
    generation: 1,
    digest: "0123456789abcdef",
    prefix: PREFIX,
    mode: "Enforce",
    batchSize: 200,
    maxAttempts: 2,
    runDeadline: "10m",
    safety: { maxDeletesPerRun: 100_000, maxDeletePercent: 100 },
    ...change,
    s3: { ...bucket.s3, ...s3 },
    exclusions: {
      tags: [],
      objectLock: true,
      legalHold: true,
      manifests: [],
      protectedPrefixes: [],
      maxAge: "60s",
      ...exclusions,
    },
  };
}
