import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { Mortal } from "../testing/mortal.ts";
import { name, OLD, World } from "./testing.ts";

// The points of failure of docs/cleanup.md that lie within a run; those before it are in test/integration/cleanup-push.test.ts.

const VERSIONS = 9;
const BATCH = 3;

/** A run whose cleaner dies when `isPoint` says so of a call that took effect; then another one carries it on. */
async function runThatDiesAt(isPoint: (call: World["store"]["calls"][number], world: World) => boolean) {
  const timers = new ManualTimers();
  const world = new World(timers);
  const { store } = world;
  for (let n = 0; n < VERSIONS; n += 1) store.put(`warehouses/wh-1/${n}`, { at: OLD });
  world.addRun({ snapshot: { batchSize: BATCH } });
  const mortal = new Mortal();
  store.faults = {
    after: (call) => {
      if (!mortal.isDead && isPoint(call, world)) mortal.kill();
    },
  };
  const first = world.runner({
    records: mortal.records(world.records),
    storeOf: () => ({ store: mortal.store(store), deleter: () => mortal.deleter(store.deleter()) }),
  });
  first.start();
  await timers.advance(0);
  const atDeath = { isDead: mortal.isDead, status: structuredClone(world.status()), calls: store.calls.length };
  const second = world.runner();
  second.start();
  await timers.advance(90_000);
  const ends = [first.stop(), second.stop()];
  await timers.advance(30_000);
  await Promise.all(ends);
  const deletes = (from: number, to?: number) =>
    store.calls.slice(from, to).flatMap(({ verb, versions = [] }) => (verb === "delete" ? versions.map(name) : []));
  return { world, atDeath, before: deletes(0, atDeath.calls), after: deletes(atDeath.calls) };
}

test("during a batch: the run goes on after the last batch that was written down, and what is gone already is no failure", async () => {
  const { world, atDeath, before, after } = await runThatDiesAt(({ verb, nth }) => verb === "delete" && nth === 2);
  expect(atDeath).toMatchObject({ isDead: true, status: { phase: "Running", counters: { deleted: BATCH } } });
  expect(before).toHaveLength(2 * BATCH);
  // The versions of the batch of which nobody heard are no more when they are looked at again.
  expect(new Set([...before, ...after]).size).toBe(VERSIONS);
  expect(world.left()).toEqual([]);
  const { phase, counters: { deleted = 0, alreadyAbsent = 0 } = {} } = world.status();
  expect(phase).toBe("Succeeded");
  expect(deleted + alreadyAbsent).toBeLessThanOrEqual(VERSIONS);
});

test("after the last delete, before the status says so: the rescan finds nothing, then the run has succeeded", async () => {
  const { world, atDeath, before, after } = await runThatDiesAt(
    ({ verb }, { store }) => verb === "delete" && store.all().length === 0,
  );
  expect(atDeath).toMatchObject({ isDead: true, status: { phase: "Running" } });
  expect(before).toHaveLength(VERSIONS);
  expect(after).toEqual([]);
  expect(world.status()).toMatchObject({ phase: "Succeeded", reason: "Completed" });
});
