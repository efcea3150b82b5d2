import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { resolveCleanupPolicySpec } from "../../../api/cleanup-policy-defaults.ts";
import { cleanupRunName } from "../../../api/cleanup-run.ts";
import type { PolicyManifest } from "../../../api/manifests.ts";
import { found, recordsConformance } from "../../../cleanup/conformance/records.ts";
import { silentLogger } from "../../../observability/logger.ts";
import { DevCleanups } from "./dev-cleanups.ts";
import { PolicyRecords } from "./policy-records.ts";

const KEY = "shop/labels";
const CUTOFF = "2026-01-01T00:00:00.000Z";

function manifest(suspend = false): PolicyManifest {
  const spec = {
    s3: { bucket: "lake" },
    prefixTemplate: "warehouses/{scope}/",
    defaultMode: "Enforce",
    safety: { requireDryRun: false },
    suspend,
  } as const;
  const policy = {
    apiVersion: "davit.dev/v1alpha1",
    kind: "CleanupPolicy",
    metadata: { name: "labels" },
    spec,
  } as const;
  const ref = { file: "policy.yaml", kind: "CleanupPolicy", namespace: "shop", name: "labels" } as const;
  return { ...ref, policy, spec: resolveCleanupPolicySpec(spec) };
}

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), "davit-dev-cleanups-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** As `davit dev` starts, over what the directory has. */
function started(dir: string): DevCleanups {
  const cleanups = new DevCleanups({ dir, instance: "default", logger: silentLogger });
  onTestFinished(() => cleanups.stop());
  cleanups.update([manifest()]);
  return cleanups;
}

/** Pushed; the controller's plan admits it. */
async function push(cleanups: DevCleanups, runId: string, scope: string, cutoff: string): Promise<string> {
  const pushed = { namespace: "shop", policy: "labels", runId, scope, eventId: `event-${runId}` };
  expect(await cleanups.start({ ...pushed, cutoff: Date.parse(cutoff), receivedAt: Date.now() })).toBe("created");
  return cleanupRunName({ name: "labels", uid: cleanups.policy(KEY)?.uid ?? "" }, runId);
}

describe("records of davit dev", () => {
  recordsConformance(async () => {
    const cleanups = started(directory());
    const owner = {
      admit: (runId: string, scope: string, cutoff: string) => push(cleanups, runId, scope, cutoff),
      suspend: async () => cleanups.update([manifest(true)]),
      remove: async () => cleanups.update([]),
    };
    return { owner, records: new PolicyRecords(cleanups, KEY), others: new PolicyRecords(cleanups, KEY) };
  });

  test("what was written is there when the next process starts, with its version", async () => {
    const dir = directory();
    const cleanups = started(dir);
    const records = new PolicyRecords(cleanups, KEY);
    const run = await found(records, await push(cleanups, "r1", "a", CUTOFF));
    const written = await records.write(run, { ...run.status, phase: "Running", attempts: 1 });
    cleanups.stop();
    const next = new PolicyRecords(started(dir), KEY);
    expect(next.open()).toEqual([written]);
    await expect(next.write(run, run.status)).rejects.toMatchObject({ code: "record_conflict" });
  });

  test("a write that does not reach the disk is told, and the next process does not know of it", async () => {
    const dir = directory();
    const cleanups = started(dir);
    const records = new PolicyRecords(cleanups, KEY);
    const run = await found(records, await push(cleanups, "r1", "a", CUTOFF));
    const before = readFileSync(join(dir, "cleanup.json"), "utf8");
    cleanups.stop();
    rmSync(dir, { recursive: true });
    await expect(records.write(run, { ...run.status, phase: "Running" })).rejects.toMatchObject({ code: "ENOENT" });
    const elsewhere = directory();
    writeFileSync(join(elsewhere, "cleanup.json"), before);
    const next = new PolicyRecords(started(elsewhere), KEY);
    expect(next.open().map(({ status }) => status.phase)).toEqual(["Pending"]);
  });
});
