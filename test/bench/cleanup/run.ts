import type { CleanupSnapshot } from "../../../src/api/generated/cleanup-run.ts";
import type { StoreAccess } from "../../../src/cleanup/run/execute.ts";
import { CleanupRunner } from "../../../src/cleanup/run/runner.ts";
import { MemoryRecords } from "../../../src/cleanup/testing/memory-records.ts";
import { systemTimers } from "../../../src/lib/timers.ts";
import { silentLogger } from "../../../src/observability/logger.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

/** Where the objects of the bench lie. */
export const PREFIX = "warehouses/wh-1/";
const POLICY = "policy-uid";

/** What a run of the bench is told. Everything is looked at that can protect a version. */
export function snapshotOf(mode: CleanupSnapshot["mode"], s3: CleanupSnapshot["s3"]): CleanupSnapshot {
  return {
    generation: 1,
    digest: "0123456789abcdef",
    s3,
    prefix: PREFIX,
    mode,
    exclusions: {
      tags: [{ key: "dispute" }],
      objectLock: true,
      legalHold: true,
      manifests: [],
      protectedPrefixes: [],
      maxAge: "60s",
    },
    batchSize: 250,
    maxAttempts: 1,
    runDeadline: "24h",
    safety: { maxDeletesPerRun: 1_000_000_000, maxDeletePercent: 100 },
  };
}

/** A store, and something that is to be ended with it. */
export type OpenStore = () => StoreAccess | Promise<StoreAccess>;

/**
 * Carries out one run to its end, as a cleaner does, with its record in memory.
 *
 * @param cutoff Unix ms
 * @throws Error when it ends as anything but Succeeded, or deleted or planned another number than expected
 */
export async function carryOut(
  snapshot: CleanupSnapshot,
  open: OpenStore,
  { cutoff, expected }: { readonly cutoff: number; readonly expected: number },
): Promise<void> {
  const records = new MemoryRecords(POLICY);
  const at = new Date();
  const spec = {
    policyRef: { name: "bench", uid: POLICY },
    runId: "run-1",
    scope: "wh-1",
    cutoff: new Date(cutoff).toISOString(),
  };
  records.add("run-1", spec, { phase: "Pending", admittedAt: at.toISOString(), snapshot }, at.getTime());
  const runner = new CleanupRunner({
    records,
    storeOf: open,
    holder: "bench",
    namespace: "bench",
    policy: "bench",
    timers: systemTimers,
    logger: silentLogger,
    metrics: createMetrics(),
  });
  const ended = new Promise<void>((resolve) => {
    const stop = records.onChange(() => {
      if (records.run("run-1").status.finishedAt === undefined) return;
      stop();
      resolve();
    });
  });
  runner.start();
  await ended;
  await runner.stop();
  const { phase, reason, message, counters = {} } = records.run("run-1").status;
  const done = snapshot.mode === "Enforce" ? counters.deleted : counters.planned;
  if (phase === "Succeeded" && done === expected) return;
  throw new Error(`the run ended as ${phase}/${reason} (${message}) with ${done} of ${expected} versions`);
}
