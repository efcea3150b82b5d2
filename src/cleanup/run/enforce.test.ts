import { beforeEach, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { extendDigest } from "../plan/plan-digest.ts";
import { StoreError, type VersionId } from "../store/port.ts";
import { CUTOFF, name, OLD, World, YOUNG } from "./testing.ts";

let timers: ManualTimers;
let world: World;
const PREFIX = "warehouses/wh-1/";

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

/** Runs what is open; an attempt that needs no pause ends at once. */
async function run(forMs = 0): Promise<void> {
  const runner = world.runner();
  runner.start();
  await timers.advance(forMs);
  const stopped = runner.stop();
  await timers.advance(0);
  await stopped;
}

function putOld(keys: number, versions = 1): VersionId[] {
  const put: VersionId[] = [];
  for (let key = 0; key < keys; key += 1)
    for (let version = 0; version < versions; version += 1) {
      const one = `${PREFIX}k${String(key).padStart(6, "0")}`;
      put.push({ key: one, versionId: world.store.put(one, { at: OLD + version, size: 10 }) });
    }
  return put;
}

const deleteCalls = () =>
  world.store.calls.filter(({ verb }) => verb === "delete").map(({ versions = [] }) => versions);

test("deletes what has expired, keeps the rest and says both", async () => {
  putOld(3, 2);
  const young = world.store.put(`${PREFIX}young`, { at: YOUNG });
  const exact = world.store.put(`${PREFIX}at-the-cutoff`, { at: CUTOFF });
  const other = world.store.put("warehouses/wh-10/old", { at: OLD });
  world.addRun();
  await run();
  expect(world.left()).toEqual([
    `${PREFIX}at-the-cutoff@${exact}`,
    `${PREFIX}young@${young}`,
    `warehouses/wh-10/old@${other}`,
  ]);
  expect(world.status()).toMatchObject({
    phase: "Succeeded",
    reason: "Completed",
    counters: { listed: 8, expired: 6, planned: 6, deleted: 6, deletedBytes: 60, kept: 0, failed: 0, alreadyAbsent: 0 },
    attempts: 1,
  });
  expect(world.status().lease).toBeUndefined();
  expect(world.status().finishedAt).toBeDefined();
});

test("the latest version of a key goes in a later batch than its older ones", async () => {
  putOld(3, 3);
  world.addRun();
  await run();
  const [first = [], second = []] = deleteCalls();
  expect(first).toHaveLength(6);
  expect(second).toHaveLength(3);
  expect(world.left()).toEqual([]);
});

test("a latest version stays when an older one of its key was refused", async () => {
  const [older] = putOld(1, 3);
  world.store.put(`${PREFIX}other`, { at: OLD });
  world.store.faults.outcome = (version) =>
    version.versionId === older?.versionId ? { type: "refused", code: "AccessDenied", retryable: false } : undefined;
  world.addRun();
  await run();
  expect(world.left()).toHaveLength(2);
  expect(world.left()).toContain(name(older ?? { key: "", versionId: "" }));
  expect(world.status()).toMatchObject({
    phase: "CompletedWithSkips",
    reason: "RefusedByStore",
    reasons: { DeniedByStore: 1, ProtectedSibling: 1 },
    counters: { planned: 4, deleted: 2, failed: 1, kept: 1 },
  });
});

test("the digest is that of the planned list, equal to the dry run's before", async () => {
  putOld(450, 2);
  world.addRun({ name: "dry", snapshot: { mode: "DryRun" } });
  await run();
  const before = world.left();
  const listed = world.planned.splice(0).map(name);
  expect(before).toHaveLength(900);
  expect(world.deleters).toBe(0);
  world.addRun({ name: "enforce" });
  await run();
  expect(world.planned.map(name)).toEqual(listed);
  expect(world.status("dry").planDigest).toBe(world.status("enforce").planDigest);
  expect(world.status("enforce").planDigest).toBe(extendDigest("", world.planned));
  expect(world.left()).toEqual([]);
});

test("a batch never has more versions than the policy says, and a checkpoint is written for each", async () => {
  putOld(45);
  const lastKeys: unknown[] = [];
  world.records.faults.before = (_run, { checkpoint }) => {
    if (checkpoint?.pass === "Delete" && checkpoint.lastKey !== undefined)
      lastKeys.push(Buffer.from(checkpoint.lastKey, "base64").toString());
  };
  world.addRun({ snapshot: { batchSize: 10 } });
  await run();
  expect(deleteCalls().map((batch) => batch.length)).toEqual([10, 10, 10, 10, 5]);
  expect(lastKeys).toEqual([9, 19, 29, 39, 44].map((at) => `${PREFIX}k${String(at).padStart(6, "0")}`));
});

test("an unaccounted version that is still there is sent again, one that is gone counts as absent", async () => {
  const [there, gone] = putOld(3);
  const seen = new Set<string>();
  world.store.faults.outcome = (version) => {
    if (seen.has(version.versionId)) return undefined;
    seen.add(version.versionId);
    if (version.versionId === gone?.versionId) world.store.remove(version);
    const isOne = version.versionId === there?.versionId || version.versionId === gone?.versionId;
    return isOne ? { type: "unaccounted" } : undefined;
  };
  world.addRun();
  await run(1_000);
  expect(world.left()).toEqual([]);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 2, alreadyAbsent: 1, planned: 3 } });
});

test("what is refused for now is sent again, at last by a call of its own, and ends the attempt in the end", async () => {
  const [bad] = putOld(4);
  world.store.faults.outcome = (version) =>
    version.versionId === bad?.versionId ? { type: "refused", code: "InternalError", retryable: true } : undefined;
  world.addRun();
  await run(3_000);
  const calls = deleteCalls().filter((batch) => batch.some(({ versionId }) => versionId === bad?.versionId));
  expect(calls.map((batch) => batch.length)).toEqual([4, 1, 1, 1, 1, 1]);
  expect(world.status()).toMatchObject({
    phase: "Pending",
    reason: "StoreUnavailable",
    counters: { deleted: 3 },
    lastError: { reason: "StoreUnavailable" },
  });
  expect(world.status().checkpoint?.lastKey).toBeUndefined();
  world.store.faults = {};
  await run(6_000);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 4, listed: 4, planned: 4 } });
});

test("a batch that is refused as a whole for one version goes on by single deletes", async () => {
  const versions = putOld(5);
  const [locked] = versions;
  world.store.objectLock = true;
  world.store.faults.before = ({ verb, versions: sent = [] }) => {
    if (verb === "delete" && sent.length > 1)
      throw new StoreError("AccessDenied", "one of them is locked", { retryable: false });
    if (verb === "delete" && sent[0]?.versionId === locked?.versionId)
      world.store.protect(sent[0] ?? { key: "", versionId: "" }, { legalHold: true });
  };
  world.addRun();
  await run();
  expect(world.left()).toEqual([name(locked ?? { key: "", versionId: "" })]);
  expect(world.status()).toMatchObject({ phase: "CompletedWithSkips", reasons: { LockedByStore: 1 } });
});

test("a store that refuses every delete ends the run as failed", async () => {
  putOld(5);
  world.store.faults.outcome = () => ({ type: "refused", code: "AccessDenied", retryable: false });
  world.addRun();
  await run();
  expect(world.status()).toMatchObject({ phase: "Failed", reason: "AccessDenied" });
  expect(world.left()).toHaveLength(5);
});

test("keys that XML cannot carry go one by one", async () => {
  for (const key of ["a\u0001b", "b\nc", "c\tdé", "d\u001f", "e+%2F"]) world.store.put(`${PREFIX}${key}`, { at: OLD });
  world.addRun();
  await run();
  expect(deleteCalls().map((batch) => batch.map(({ key }) => key.slice(PREFIX.length)))).toEqual([
    ["b\nc", "c\tdé", "e+%2F"],
    ["a\u0001b"],
    ["d\u001f"],
  ]);
  expect(world.left()).toEqual([]);
});

test("what is locked, held, tagged, named by a manifest or under a protected prefix stays", async () => {
  world.store.objectLock = true;
  const until = timers.now() + 86_400_000;
  world.store.put(`${PREFIX}hold`, { at: OLD, legalHold: true });
  world.store.put(`${PREFIX}retained`, { at: OLD, retention: { mode: "Compliance", until } });
  world.store.put(`${PREFIX}tagged`, { at: OLD, tags: [{ key: "dispute", value: "yes" }] });
  world.store.put(`${PREFIX}named`, { at: OLD });
  world.store.put(`${PREFIX}keep/one`, { at: OLD });
  world.store.put(`${PREFIX}free`, { at: OLD, tags: [{ key: "other", value: "yes" }] });
  world.store.put("manifests/wh-1/now", { at: OLD, body: `${PREFIX}named\n` });
  world.addRun({
    snapshot: {
      exclusions: {
        tags: [{ key: "dispute" }],
        objectLock: true,
        legalHold: true,
        manifests: [{ prefix: "manifests/wh-1/", keysFrom: "lines" }],
        protectedPrefixes: [`${PREFIX}keep/`],
        maxAge: "60s",
      },
    },
  });
  await run();
  expect(world.left().map((one) => one.split("@")[0])).toEqual([
    "manifests/wh-1/now",
    ...["hold", "keep/one", "named", "retained", "tagged"].map((key) => `${PREFIX}${key}`),
  ]);
  expect(world.status()).toMatchObject({
    phase: "Succeeded",
    reasons: { LegalHold: 1, Retention: 1, ProtectedTag: 1, InManifest: 1, ProtectedPrefix: 1 },
    counters: { deleted: 1, kept: 5 },
  });
  expect(world.calls("probeLockRights")).toBe(1);
});

test("tags are asked for where there are some and once more, and only when tags matter", async () => {
  world.store.put(`${PREFIX}a`, { at: OLD });
  world.store.put(`${PREFIX}tagged`, { at: OLD, tags: [{ key: "a", value: "b" }] });
  putOld(3);
  world.addRun({ name: "dry", snapshot: { mode: "DryRun" } });
  await run();
  expect(world.calls("tags")).toBe(0);
  const { exclusions } = world.status("dry").snapshot ?? {};
  if (exclusions === undefined) throw new Error("no snapshot");
  world.addRun({ name: "dry-2", snapshot: { mode: "DryRun", exclusions: { ...exclusions, tags: [{ key: "z" }] } } });
  await run();
  const asked = world.store.calls.filter(({ verb }) => verb === "tags").map(({ key }) => key);
  expect(asked).toEqual([`${PREFIX}a`, `${PREFIX}tagged`]);
});
