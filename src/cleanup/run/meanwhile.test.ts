import { beforeEach, describe, expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { StoreError } from "../store/port.ts";
import { OLD, World, YOUNG } from "./testing.ts";

let timers: ManualTimers;
let world: World;
const KEY = "warehouses/wh-1/k";

beforeEach(() => {
  timers = new ManualTimers();
  world = new World(timers);
});

async function run(): Promise<void> {
  const runner = world.runner();
  runner.start();
  await timers.advance(3_000);
  const stopped = runner.stop();
  await timers.advance(0);
  await stopped;
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
