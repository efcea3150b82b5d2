import { beforeEach, describe, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { sleep } from "../../lib/timers.ts";
import { StoreError } from "../store/port.ts";
import { OLD, snapshot, World, YOUNG } from "./testing.ts";

let timers: ManualTimers;
let world: World;
const PREFIX = "warehouses/wh-1/";
const KEY = `${PREFIX}k`;
const EXCLUSIONS = snapshot().exclusions;

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

async function run(forMs = 3_000): Promise<void> {
  const runner = world.runner();
  runner.start();
  await timers.advance(forMs);
  const stopped = runner.stop();
  await timers.advance(0);
  await stopped;
}

function putOld(keys: number): void {
  for (let key = 0; key < keys; key += 1) world.store.put(`${PREFIX}k00000${key}`, { at: OLD });
}

/** Before the first delete takes effect. */
function beforeDelete(happens: () => void): void {
  world.store.faults.before = ({ verb, nth }) => {
    if (verb === "delete" && nth === 1) happens();
  };
}

const put = (at: number) => ({ key: KEY, versionId: world.store.put(KEY, { at }) });
const mark = (at: number) => ({ key: KEY, versionId: world.store.mark(KEY, at) });
const left = () => world.store.all().map(({ versionId }) => versionId);

describe("what hid the versions of a key is taken away by somebody else, and an older one is refused: the newest that is left stays what is seen", () => {
  const HIDES = {
    "an expired delete marker": () => mark(OLD + 5),
    "two delete markers": () => {
      world.store.mark(KEY, OLD + 4);
      return mark(OLD + 5);
    },
    "a delete marker that has not expired": () => mark(YOUNG),
    "a version that has not expired": () => put(YOUNG),
  };
  test.each(Object.entries(HIDES))("%s", async (_, hide) => {
    const [oldest, newest] = [put(OLD), put(OLD + 1)];
    hide();
    beforeDelete(() => {
      world.store.protect(oldest, { legalHold: true });
      for (const { key, versionId } of world.store.all())
        if (versionId !== oldest.versionId && versionId !== newest.versionId) world.store.remove({ key, versionId });
    });
    world.addRun();
    await run();
    expect(left()).toEqual([newest.versionId, oldest.versionId]);
    expect(world.status()).toMatchObject({ phase: "CompletedWithSkips", reasons: { LockedByStore: 1 } });
  });
});

test("a delete marker below the newest version stays while an older version does, also when that newest is taken away", async () => {
  const oldest = put(OLD);
  const marker = mark(OLD + 1);
  const newest = put(OLD + 2);
  beforeDelete(() => {
    world.store.protect(oldest, { legalHold: true });
    world.store.remove(newest);
  });
  world.addRun();
  await run();
  expect(left()).toEqual([marker.versionId, oldest.versionId]);
});

describe("a delete marker of which the store does not say that it is deleted", () => {
  test.each(["refused", "unaccounted"] as const)("is absent when it is not there any more: %s", async (type) => {
    put(OLD);
    const marker = mark(OLD + 1);
    world.store.faults.outcome = ({ versionId }) => {
      if (versionId !== marker.versionId) return undefined;
      world.store.remove(marker);
      return type === "refused" ? { type, code: "NoSuchVersion", retryable: false } : { type };
    };
    world.addRun();
    await run();
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 1, alreadyAbsent: 1, failed: 0 } });
  });

  test("is refused when it is there, and tried again when nobody can say", async () => {
    const marker = mark(OLD);
    world.store.put("warehouses/wh-1/other", { at: OLD });
    world.store.faults.outcome = ({ versionId }) =>
      versionId === marker.versionId ? { type: "refused", code: "AccessDenied", retryable: false } : undefined;
    world.store.faults.before = ({ verb, nth }) => {
      if (verb === "hasMarker" && nth <= 3) throw new StoreError("Timeout", "no answer", { retryable: true });
    };
    world.addRun();
    await run();
    expect(left()).toEqual([marker.versionId]);
    expect(world.calls("delete")).toBe(2);
    expect(world.status()).toMatchObject({ phase: "CompletedWithSkips", reasons: { DeniedByStore: 1 } });
  });
});

describe("manifests that get too old while a delete waits", () => {
  const manifests = [{ prefix: "manifests/", keysFrom: "lines" }];

  test("are read again before it is repeated, and what they name by then stays", async () => {
    putOld(3);
    const marker = world.store.mark(`${PREFIX}k000009`, OLD);
    world.store.put("manifests/m", { at: OLD, body: "none" });
    world.store.faults.before = async ({ verb, nth }) => {
      if (verb !== "delete" || nth !== 1) return;
      await sleep(timers, 5_000);
      world.store.put("manifests/m", { body: `${PREFIX}k000001\n${PREFIX}k000009` });
      throw new StoreError("Timeout", "no answer", { retryable: true });
    };
    world.addRun({ snapshot: { exclusions: { ...EXCLUSIONS, manifests, maxAge: "5s" } } });
    await run(10_000);
    expect(world.left().filter((one) => one.startsWith(PREFIX))).toEqual([
      expect.stringContaining("k000001@"),
      `${PREFIX}k000009@${marker}`,
    ]);
    expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 2 }, reasons: { InManifest: 2 } });
  });

  test("each time end the attempt, which may be repeated", async () => {
    putOld(3);
    world.store.put("manifests/m", { at: OLD, body: "none" });
    world.store.faults.after = ({ verb }) => {
      if (verb === "read") timers.stall(5_000);
    };
    world.addRun({ snapshot: { exclusions: { ...EXCLUSIONS, manifests, maxAge: "5s" } } });
    await run(1_000);
    expect(world.status()).toMatchObject({ phase: "Pending", reason: "StoreTooSlow" });
    expect(world.calls("delete")).toBe(0);
  });
});

test("tags that may not be read end the run: a HEAD without the right shows none", async () => {
  world.store.put(`${PREFIX}tagged`, { at: OLD, tags: [{ key: "dispute", value: "open" }] });
  world.store.deniesTags = true;
  world.addRun({ snapshot: { exclusions: { ...EXCLUSIONS, tags: [{ key: "dispute" }] } } });
  await run();
  expect(world.status()).toMatchObject({ phase: "Failed", reason: "AccessDenied" });
  expect(world.left()).toHaveLength(1);
});

test("a run whose cutoff has not come by this clock waits for it", async () => {
  putOld(2);
  const cutoff = new Date(timers.now() + 60_000).toISOString();
  world.addRun({ spec: { cutoff } });
  await run(59_000);
  expect(world.store.calls).toEqual([]);
  expect(world.status().phase).toBe("Pending");
  await run(2_000);
  expect(world.status()).toMatchObject({ phase: "Succeeded", counters: { deleted: 2 } });
});

test("a cleaner whose machine slept before a delete does not send it, but takes the run anew", async () => {
  putOld(3);
  const deletedBy: unknown[] = [];
  world.store.faults.before = ({ verb, nth }) => {
    if (verb === "delete") deletedBy.push(world.status().attempts);
    // Of the sleep only the wall clock tells.
    if (verb === "bucketState" && nth === 2) timers.wallOffset += 20_000;
  };
  world.store.faults.after = ({ verb }) => {
    // The bucket is looked at once more before the batch.
    if (verb === "head") timers.stall(1_000);
  };
  world.addRun();
  await run();
  expect(deletedBy).toEqual([2]);
  expect(world.status()).toMatchObject({ phase: "Succeeded", attempts: 2, counters: { deleted: 3 } });
});
