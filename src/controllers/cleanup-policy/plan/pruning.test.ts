import { describe, expect, test } from "vitest";
import { planOrphans } from "./plan-orphans.ts";
import { admitted, DAY, HOUR, NOON, runOf, said, World } from "./testing.ts";
import { rfc3339 } from "./views.ts";

const KEEP_NONE = { successful: 0, failed: 0, minAgeMs: 14 * DAY };
const OLD = NOON - 20 * DAY;

/** A run that ended. */
const ended = (
  id: string,
  phase: "Succeeded" | "CompletedWithSkips" | "Failed" | "Rejected" | "Cancelled",
  at: number,
  scope = "a",
) => runOf(id, { scope, cutoff: rfc3339(at - 10 * DAY), receivedAt: rfc3339(at) }, admitted("Enforce", phase, at));

function worldOf(history: typeof KEEP_NONE): World {
  return new World({}, { history, requireDryRun: false });
}

describe("finished runs", () => {
  test("beyond the limits go, the oldest first: of those that succeeded, and of all the others", () => {
    const world = worldOf({ successful: 1, failed: 2, minAgeMs: 14 * DAY });
    for (const [n, phase] of (
      ["Succeeded", "CompletedWithSkips", "Rejected", "Cancelled", "Rejected"] as const
    ).entries()) {
      world.add(ended(`${n}-${phase}`, phase, OLD + n * HOUR));
    }
    world.settle();
    expect(world.ids).toEqual(["1-CompletedWithSkips", "3-Cancelled", "4-Rejected"]);
  });

  test("stay for minAge, whatever the limits, and are looked at when that is over", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("a", "Succeeded", NOON - 14 * DAY + HOUR));
    expect(world.settle().nextLookAt).toBe(NOON + HOUR);
    expect(world.ids).toEqual(["a"]);
    world.settle(NOON + HOUR);
    expect(world.ids).toEqual([]);
  });

  test("that ended by a clock that was wrong stay for minAge from their creation", () => {
    const world = worldOf(KEEP_NONE);
    world.add({ ...ended("a", "Succeeded", OLD), createdAt: NOON });
    world.settle();
    expect(world.ids).toEqual(["a"]);
  });

  test("of a scope include the last failed one for ever", () => {
    const world = worldOf(KEEP_NONE);
    for (const [n, scope] of ["a", "a", "b"].entries()) world.add(ended(`f${n}`, "Failed", OLD + n * HOUR, scope));
    world.add(ended("s", "Succeeded", OLD + DAY));
    world.settle();
    expect(world.ids).toEqual(["f1", "f2"]);
  });

  test("that are open never go", () => {
    const world = worldOf(KEEP_NONE);
    world.add(runOf("open", { receivedAt: rfc3339(OLD) }, { ...admitted("Enforce", "Running", NOON), lease: lease() }));
    // That one ended later says nothing of it.
    world.add(ended("later", "Rejected", OLD + DAY));
    world.settle();
    expect(world.ids).toEqual(["open"]);
  });

  test("stay while the policy is not accepted: its limits are not known", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("a", "Succeeded", OLD));
    world.accepted = undefined;
    world.settle();
    expect(world.ids).toEqual(["a"]);
  });
});

const lease = () => ({ holder: "h", token: "t", renewedAt: rfc3339(NOON) });

describe("what a run completed", () => {
  test("is in a status that was written before the run goes, and not only in the one that is about to be", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("a", "Succeeded", OLD));
    for (let looks = 0; looks < 3; looks += 1) expect(world.look(NOON, false).prune).toEqual([]);
    expect(world.look(NOON, true).prune).toEqual([]);
    expect(world.policy.status?.scopes).toMatchObject([{ name: "a", lastRunId: "a" }]);
    expect(world.look().prune.map(({ spec }) => spec.runId)).toEqual(["a"]);
  });

  test("is in the status also when it is only that the run finished last", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("a", "Rejected", OLD));
    expect(world.look().prune).toEqual([]);
    expect(world.look().prune).toHaveLength(1);
  });

  test("outlives the run, with the run that finished last", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("a", "Succeeded", OLD));
    world.add(ended("b", "Rejected", OLD + HOUR));
    const { scopes, lastRun } = world.settle().status ?? world.policy.status ?? {};
    expect(world.ids).toEqual([]);
    world.settle(NOON + 100 * DAY);
    expect(world.policy.status).toMatchObject({ scopes, lastRun, openRuns: 0 });
    expect(lastRun).toMatchObject({ name: ended("b", "Rejected", OLD).name, phase: "Rejected" });
  });

  test("keeps its run id from deleting again, also when its record is long gone", () => {
    const world = worldOf(KEEP_NONE);
    const push = () => ({
      ...runOf("once", { cutoff: rfc3339(NOON - 10 * DAY), receivedAt: rfc3339(world.now) }),
      createdAt: world.now,
    });
    world.add(push());
    world.settle();
    expect(world.run("once")?.status).toMatchObject({ reason: "Admitted", snapshot: { mode: "Enforce" } });
    world.finish("once", "CompletedWithSkips");
    world.settle();
    world.settle(NOON + 15 * DAY);
    expect(world.ids).toEqual([]);
    world.now = NOON + 400 * DAY;
    world.add(push());
    expect(said(world.look().statuses)).toEqual(["once Rejected/Superseded"]);
    expect(world.run("once")?.status).not.toHaveProperty("snapshot");
  });

  test("is known of runs that ended in the same look in which another asks for less", () => {
    const world = worldOf(KEEP_NONE);
    world.add(ended("done", "Succeeded", NOON));
    world.add(runOf("late", { cutoff: rfc3339(NOON - 10 * DAY) }));
    expect(said(world.look().statuses)).toEqual(["late Rejected/Superseded"]);
  });
});

describe("runs of a policy that is gone", () => {
  test("keep the default history", () => {
    const runs = Array.from({ length: 25 }, (_, n) => ended(`r${n}`, "Succeeded", OLD + n * HOUR));
    expect(planOrphans(runs, NOON).prune.map(({ spec }) => spec.runId)).toEqual(["r0", "r1", "r2", "r3", "r4"]);
    expect(planOrphans(runs, OLD + 14 * DAY - 1)).toEqual({ statuses: [], prune: [], nextLookAt: OLD + 14 * DAY });
  });
});

test("very many runs are deleted over several looks", () => {
  const world = worldOf(KEEP_NONE);
  for (let n = 0; n < 120; n += 1) world.add(ended(`r${n}`, "Rejected", OLD + n));
  world.look();
  expect(world.look()).toMatchObject({ nextLookAt: NOON });
  world.settle();
  expect(world.ids).toEqual([]);
});
