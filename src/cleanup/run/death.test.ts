import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { Mortal } from "../testing/mortal.ts";
import { OLD, World, YOUNG } from "./testing.ts";

const PREFIX = "warehouses/wh-1/";
const BATCH = 3;

/** 12 versions to go, of keys with one to five versions, and some of each kind that stays. */
function fill({ store }: World): { readonly stays: readonly string[] } {
  store.objectLock = true;
  for (const [key, versions] of Object.entries({ a: 1, b: 2, c: 5, d: 1, e: 1, f: 2 }))
    for (let version = 0; version < versions; version += 1) store.put(`${PREFIX}${key}`, { at: OLD + version });
  const stays = [
    store.put(`${PREFIX}b2`, { at: OLD, legalHold: true }),
    store.put(`${PREFIX}c2`, { at: YOUNG }),
    store.put(`${PREFIX}z`, { at: OLD, tags: [{ key: "keep", value: "1" }] }),
    store.put("manifests/m", { at: OLD, body: "[]" }),
  ];
  return { stays };
}

const SNAPSHOT = {
  batchSize: BATCH,
  exclusions: {
    tags: [{ key: "keep" }],
    objectLock: true,
    legalHold: true,
    manifests: [{ prefix: "manifests/", keysFrom: "lines" }],
    protectedPrefixes: [],
    maxAge: "60s",
  },
};

async function runThatDies(batchesAtOnce: number, diesAt: number, hasEffect: boolean) {
  const timers = new ManualTimers();
  const world = new World(timers);
  const { stays } = fill(world);
  const mortal = new Mortal(diesAt, hasEffect);
  const { store } = world;
  world.addRun({ snapshot: SNAPSHOT });
  const first = world.runner({
    batchesAtOnce,
    records: mortal.records(world.records),
    storeOf: () => ({ store: mortal.store(store), deleter: () => mortal.deleter(store.deleter()) }),
  });
  first.start();
  await timers.advance(0);
  const died = mortal.isDead;
  // Written while nobody looks: the newest version of a key of which older ones may be gone.
  const newest = store.put(`${PREFIX}c`, { at: YOUNG });
  const second = world.runner({ batchesAtOnce });
  second.start();
  // Longer than a lease lasts, and than the pauses between attempts.
  await timers.advance(90_000);
  const left = store.all().map(({ versionId }) => versionId);
  const isIdle = second.idle;
  const ends = [first.stop(), second.stop()];
  await timers.advance(30_000);
  await Promise.all(ends);
  return { world, mortal, died, left, expected: [newest, ...stays].toSorted(), isIdle };
}

/** How many versions were sent to be deleted more than once. */
function repeated({ store }: World): number {
  const sent = store.calls.flatMap(({ verb, versions = [] }) => (verb === "delete" ? versions : []));
  return sent.length - new Set(sent.map(({ versionId }) => versionId)).size;
}

const DEATHS =
  "a process may die at every step of a run: the next one goes on, and exactly what was planned is gone; batches at a time:";
test.each([1, 2])(`${DEATHS} %i`, async (batchesAtOnce) => {
  const alive = await runThatDies(batchesAtOnce, Number.POSITIVE_INFINITY, true);
  expect(alive.left.toSorted()).toEqual(alive.expected);
  expect(repeated(alive.world)).toBe(0);
  const { steps } = alive.mortal;
  expect(steps).toBeGreaterThan(30);
  for (let at = 1; at <= steps; at += 1)
    for (const hasEffect of [false, true]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, each in a world of its own
      const { world, died, left, expected, isIdle } = await runThatDies(batchesAtOnce, at, hasEffect);
      const where = `step ${at} of ${steps}, ${hasEffect ? "after" : "before"} it took effect`;
      const end = { died, left: left.toSorted(), phase: world.status().phase, isIdle };
      expect({ where, ...end }).toEqual({ where, died: true, left: expected, phase: "Succeeded", isIdle: true });
      expect(repeated(world)).toBeLessThanOrEqual(BATCH);
    }
});
