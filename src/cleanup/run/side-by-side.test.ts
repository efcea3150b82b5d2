import { beforeEach, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { sleep } from "../../lib/timers.ts";
import { StoreError, type VersionId } from "../store/port.ts";
import { OLD, snapshot, World } from "./testing.ts";

let timers: ManualTimers;
let world: World;
const PREFIX = "warehouses/wh-1/";
const BATCH = 10;

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

const keyOf = (at: number) => `${PREFIX}k${String(at).padStart(6, "0")}`;

function putOld(keys: number, versions = 1): void {
  for (let key = 0; key < keys; key += 1)
    for (let version = 0; version < versions; version += 1) world.store.put(keyOf(key), { at: OLD + version });
}

/** Batches that are under way; each waits until it is let go. */
function heldBatches() {
  const held: { readonly versions: readonly VersionId[]; readonly release: () => void }[] = [];
  world.store.faults.before = ({ verb, versions = [] }) =>
    verb === "delete" ? new Promise((resolve) => held.push({ versions, release: resolve })) : undefined;
  return held;
}

function started() {
  const runner = world.runner({ batchesAtOnce: 2 });
  runner.start();
  return runner;
}

/** Lets what is open run to its end. */
async function run(): Promise<void> {
  const runner = started();
  for (let turns = 0; turns < 100 && world.records.open().length > 0; turns += 1) await timers.advance(0);
  const stopped = runner.stop();
  await timers.advance(0);
  await stopped;
}

const lastKeys = (): string[] => {
  const keys: string[] = [];
  world.records.faults.before = (_run, { checkpoint }) => {
    if (checkpoint?.pass === "Delete" && checkpoint.lastKey !== undefined)
      keys.push(Buffer.from(checkpoint.lastKey, "base64").toString());
  };
  return keys;
};

test("two batches are deleted at a time, no third before both are known and written down", async () => {
  putOld(45);
  const checkpoints = lastKeys();
  const held = heldBatches();
  world.addRun({ snapshot: { batchSize: BATCH } });
  const runner = started();
  await timers.advance(0);
  expect(held.map(({ versions }) => versions.map(({ key }) => key))).toEqual([
    Array.from({ length: BATCH }, (_, at) => keyOf(at)),
    Array.from({ length: BATCH }, (_, at) => keyOf(BATCH + at)),
  ]);
  held[1]?.release();
  await timers.advance(0);
  expect([held.length, checkpoints.length]).toEqual([2, 0]);
  held[0]?.release();
  await timers.advance(0);
  expect(held).toHaveLength(4);
  expect(new Set(checkpoints)).toEqual(new Set([keyOf(2 * BATCH - 1)]));
  world.store.faults.before = () => undefined;
  for (const { release } of held) release();
  await timers.advance(0);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 45 } });
  await runner.stop();
});

test("no more than two of many keys with many versions, and each key in one at a time", async () => {
  putOld(60);
  for (let key = 0; key < 60; key += 7)
    for (let at = 1; at < 25; at += 1) world.store.put(keyOf(key), { at: OLD + at });
  // They may go once no version of their key is left: all at once become ready.
  for (let key = 0; key < 60; key += 1) for (let at = 0; at < 6; at += 1) world.store.mark(keyOf(key), OLD + 100 + at);
  const { length } = world.left();
  const underWay: ReadonlySet<string>[] = [];
  let most = 0;
  const twice: string[] = [];
  world.store.faults.before = async ({ verb, versions = [] }) => {
    if (verb !== "delete") return;
    const keys = new Set(versions.map(({ key }) => key));
    for (const key of keys) if (underWay.some((others) => others.has(key))) twice.push(key);
    underWay.push(keys);
    most = Math.max(most, underWay.length);
    await new Promise((resolve) => setImmediate(resolve));
    underWay.splice(underWay.indexOf(keys), 1);
  };
  world.addRun({ snapshot: { batchSize: BATCH } });
  await run();
  expect([twice, most]).toEqual([[], 2]);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: length } });
});

test.each([1, 2])(
  "when batch %i of two is not sent as what is known got too old, it is after another look",
  async (which) => {
    putOld(20);
    world.store.put("manifests/m", { at: OLD, body: "none" });
    world.store.faults.before = async ({ verb, nth }) => {
      if (verb !== "delete" || nth !== which) return;
      await sleep(timers, 5_000);
      throw new StoreError("Timeout", "no answer", { retryable: true });
    };
    const exclusions = {
      ...snapshot().exclusions,
      manifests: [{ prefix: "manifests/", keysFrom: "lines" as const }],
      maxAge: "5s",
    };
    world.addRun({ snapshot: { batchSize: BATCH, exclusions } });
    const runner = started();
    await timers.advance(10_000);
    expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 1, counters: { deleted: 20 } });
    await runner.stop();
  },
);

test("the second batch is left out when both would be over safety.maxDeletesPerRun", async () => {
  putOld(30);
  world.addRun({
    snapshot: { batchSize: BATCH, safety: { maxDeletesPerRun: 30, maxDeletePercent: 100 } },
    status: {
      checkpoint: { pass: "Delete", round: 1 },
      counters: { deleted: 15, planned: 15, listed: 15, expired: 15 },
    },
  });
  await run();
  expect(world.status()).toMatchObject({ phase: "Failed", reason: "TooManyDeletes", counters: { deleted: 25 } });
  expect(world.left()).toHaveLength(20);
});

test.each([1, 2])(
  "when batch %i of two ends the run for good, what the other one deleted is counted",
  async (which) => {
    putOld(40);
    world.store.faults.before = ({ verb, nth }) => {
      if (verb === "delete" && nth === which) throw new StoreError("BucketNotFound", "gone", { retryable: false });
    };
    world.addRun({ snapshot: { batchSize: BATCH, maxAttempts: 1 } });
    await run();
    expect(world.status()).toMatchObject({ phase: "Failed", reason: "BucketNotFound", counters: { deleted: BATCH } });
    expect(world.left()).toHaveLength(30);
    expect(world.calls("delete")).toBe(2);
  },
);

test("when its process stops, no batch is sent any more and both are counted", async () => {
  putOld(60);
  const held = heldBatches();
  world.addRun({ snapshot: { batchSize: BATCH } });
  const runner = started();
  await timers.advance(0);
  const stopped = runner.stop();
  for (const { release } of held) release();
  await timers.advance(0);
  await stopped;
  expect(held).toHaveLength(2);
  expect(world.status()).toMatchObject({ phase: "Pending", reason: "Stopping", counters: { deleted: 2 * BATCH } });
});
