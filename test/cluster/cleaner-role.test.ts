import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveCleanupPolicySpec } from "../../src/api/cleanup-policy-defaults.ts";
import { snapshotOf } from "../../src/api/cleanup-snapshot.ts";
import type { CleanupPolicySpec } from "../../src/api/generated/cleanup-policy.ts";
import type { CleanupRunStatus } from "../../src/api/generated/cleanup-run.ts";
import { cleanerPlace } from "../../src/controllers/cleanup-policy/cleaner/cleaner-place.ts";
import { cleanerRbac } from "../../src/controllers/cleanup-policy/cleaner/cleaner-rbac.ts";
import { CleanupPolicies } from "../support/cleanup-policies.ts";
import { pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { makeBucket, type TestBucket } from "../support/object-store/bucket.ts";
import { nameOf } from "../support/object-store/carry-out.ts";
import { type CephGateway, startCephGateway } from "../support/object-store/ceph.ts";
import { RoleProcess } from "../support/roles/role-process.ts";

// A cleaner as a process of its own over a real store, with the rights that the controller gives it, and no others.
const cluster = sharedCluster();
const POLICY = "labels";
const PREFIX = "warehouses/wh-17/";
const dir = mkdtempSync(join(tmpdir(), "davit-cleaner-"));
const running: RoleProcess[] = [];
let ceph: CephGateway;
let bucket: TestBucket;
let policies: CleanupPolicies;
let spec: CleanupPolicySpec;
let config: string;

beforeAll(async () => {
  ceph = await startCephGateway();
  bucket = await makeBucket(ceph, { objectLock: true });
  const namespace = await cluster.namespace("tenant");
  policies = new CleanupPolicies(cluster, "default", namespace);
  const { bucket: name, ...s3 } = bucket.s3;
  const safety = { maxDeletePercent: 100, requireDryRun: false };
  spec = {
    s3: { bucket: name, ...s3 },
    prefixTemplate: "warehouses/{scope}/",
    defaultMode: "Enforce",
    batchSize: 100,
    safety,
  };
  const { metadata } = await policies.create(POLICY, spec);
  const place = cleanerPlace("default", { namespace, name: POLICY, uid: metadata.uid ?? "" });
  for (const object of cleanerRbac(place, undefined)) {
    const plain = JSON.parse(JSON.stringify(object)) as KubeObject;
    // oxlint-disable-next-line no-await-in-loop -- the binding needs the account
    await cluster.admin.apply(pathOf(plain), plain);
  }
  const credentialsDirectory = join(dir, "credentials");
  mkdirSync(credentialsDirectory);
  writeFileSync(join(credentialsDirectory, "accessKeyId"), ceph.accessKeyId);
  writeFileSync(join(credentialsDirectory, "secretAccessKey"), ceph.secretAccessKey);
  const tokenFile = join(dir, "token");
  writeFileSync(tokenFile, await cluster.tokenFor(namespace, place.name), { mode: 0o600 });
  config = join(dir, "davit.yaml");
  const cleaner = { namespace, policy: POLICY, credentialsDirectory, adminPort: 0, address: "127.0.0.1" };
  writeFileSync(
    config,
    JSON.stringify({ kubernetes: { server: cluster.url, tokenFile, caFile: cluster.caFile }, cleaner }),
  );
}, 120_000);
afterAll(async () => {
  await Promise.all(running.map((one) => one.end("SIGKILL")));
  await ceph?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function startCleaner(): Promise<RoleProcess> {
  const cleaner = new RoleProcess("cleaner", config);
  running.push(cleaner);
  return cleaner.ready();
}

/** Makes a run and admits it, as the controller does. */
async function admitted(runId: string, cutoff: number, scope = "wh-17"): Promise<string> {
  const name = await policies.push(POLICY, runId, { scope, cutoff: new Date(cutoff).toISOString() });
  const snapshot = snapshotOf(resolveCleanupPolicySpec(spec), { scope, mode: "Enforce", generation: 1 });
  const admittedAt = new Date().toISOString();
  expect(await policies.writeRun(name, { phase: "Pending", admittedAt, snapshot })).toBe(200);
  return name;
}

const left = async () => (await bucket.all()).map(nameOf);
const statusOf = async (name: string): Promise<CleanupRunStatus> => (await policies.run(name)).status;
const progress = async (name: string) => (await statusOf(name)).counters?.deleted ?? 0;

/** A moment later than all that was written, and earlier than all that will be. */
async function moment(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const now = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return now;
}

test("a cleaner that is killed in every pass of a run of 5,000 versions leaves exactly what was not planned", async () => {
  const names = Array.from({ length: 2_500 }, (_, index) => `${PREFIX}k${String(index).padStart(5, "0")}`);
  await bucket.putAll(names);
  await bucket.putAll(names);
  const held = { key: names[7] ?? "", versionId: await bucket.put(names[7] ?? "") };
  await bucket.hold(held);
  const cutoff = await moment();
  const young = [await bucket.put(names[3] ?? ""), await bucket.put(`${PREFIX}new`)];
  const run = await admitted("killed", cutoff);

  // Before its first batch, then in the middle of the deletes, twice, at some moment of a batch.
  for (const deleted of [0, 1_000, 3_000]) {
    // oxlint-disable no-await-in-loop -- one cleaner after the other
    const cleaner = await startCleaner();
    const isThere = async () => (await statusOf(run)).phase === "Running" && (await progress(run)) >= deleted;
    await expect.poll(isThere, { timeout: 120_000, interval: 50 }).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
    await cleaner.end("SIGKILL");
    // oxlint-enable no-await-in-loop
  }
  expect((await statusOf(run)).phase).toBe("Running");
  const last = await startCleaner();
  await expect.poll(() => policies.phase(run), { timeout: 180_000 }).toBe("Succeeded/Completed");
  const { counters = {}, reasons, lease, attempts } = await statusOf(run);
  // A batch that was deleted and not written down is found absent, or not at all.
  expect((counters.deleted ?? 0) + (counters.alreadyAbsent ?? 0)).toBeLessThanOrEqual(5_000);
  expect(counters.deleted).toBeGreaterThan(4_000);
  expect(reasons).toEqual({ LegalHold: 1 });
  expect(lease).toBeUndefined();
  expect(attempts).toBe(4);
  expect(new Set(await left())).toEqual(new Set([nameOf(held), `${names[3]}@${young[0]}`, `${PREFIX}new@${young[1]}`]));
  expect(await last.end()).toBe(0);
  for (const cleaner of running) expect(cleaner.output).not.toContain(ceph.secretAccessKey);
}, 600_000);

test("a cleaner that is told to end finishes its batch, and the next one goes on at once", async () => {
  await bucket.putAll(
    Array.from({ length: 1_000 }, (_, index) => `warehouses/wh-18/m${String(index).padStart(5, "0")}`),
  );
  const cutoff = await moment();
  const first = await startCleaner();
  const run = await admitted("ended", cutoff, "wh-18");
  await expect.poll(() => progress(run), { timeout: 60_000, interval: 50 }).toBeGreaterThan(0);
  expect(await first.end()).toBe(0);
  const { phase, lease, counters } = await statusOf(run);
  expect([phase, lease]).toEqual(["Pending", undefined]);
  expect(counters?.deleted).toBeLessThan(1_000);
  const second = await startCleaner();
  await expect.poll(() => policies.phase(run), { timeout: 60_000 }).toBe("Succeeded/Completed");
  expect((await statusOf(run)).counters).toMatchObject({ deleted: 1_000, alreadyAbsent: 0 });
  expect(
    await second.metric(
      `davit_cleanup_objects_total{namespace="${policies.namespace}",policy="labels",mode="Enforce",outcome="deleted"}`,
    ),
  ).toBeGreaterThan(0);
  await second.end();
}, 300_000);
