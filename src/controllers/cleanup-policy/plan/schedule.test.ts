import { describe, expect, test } from "vitest";
import { cleanupRunName } from "../../../api/cleanup-run.ts";
import { acceptedPolicyOf, DAY, HOUR, NOON, ticksOf, World } from "./testing.ts";
import { MOST_CREATED, scheduledRunId } from "./schedule.ts";

/** A policy with one scope, or more, and a schedule; expires after 30 days. */
function scheduled(expression: string, { timeZone = "UTC", scopes = ["a"], deadline = HOUR } = {}): World {
  const spec = {
    s3: { bucket: "lake" },
    prefixTemplate: "warehouses/{scope}/",
    schedule: expression,
    expireAfter: "720h",
    scopes: scopes.map((name) => ({ name })),
  };
  const schedule = { ticks: ticksOf(expression, timeZone), expireAfterMs: 30 * DAY, startingDeadlineMs: deadline };
  return new World({ spec }, { schedule, requireDryRun: false });
}

/** Ends every run that is open. */
function finishAll(world: World): void {
  for (const { spec, status } of world.runs) {
    if (status?.phase === "Pending") world.finish(spec.runId, "Succeeded");
  }
}

const times = (world: World) => world.ids.map((id) => /^schedule-(\w+)-/.exec(id)?.[1]);
const missed = (world: World) => world.policy.status?.schedule?.missed;

describe("a schedule", () => {
  test("that is new begins now: no run for times before it was there", () => {
    const world = scheduled("0 * * * *");
    expect(world.settle(NOON + 1).nextLookAt).toBe(NOON + HOUR);
    expect(world.ids).toEqual([]);
    expect(world.policy.status?.schedule).toEqual({
      lastAt: "2030-01-01T12:00:00.001Z",
      nextAt: "2030-01-01T13:00:00Z",
      missed: 0,
    });
  });

  test("makes a run for each scope, with the cutoff and the receipt of the time it is for, however late it is made", () => {
    const world = scheduled("0 * * * *", { scopes: ["a", "b"] });
    world.settle();
    world.settle(NOON + HOUR + 5_000);
    expect(world.ids).toEqual(["schedule-20300101T130000Z-a", "schedule-20300101T130000Z-b"]);
    expect(world.run("schedule-20300101T130000Z-b")).toMatchObject({
      name: cleanupRunName(world.policy, "schedule-20300101T130000Z-b"),
      spec: {
        instance: "default",
        policyRef: { name: "expired", uid: "uid-1" },
        scope: "b",
        cutoff: "2029-12-02T13:00:00Z",
        receivedAt: "2030-01-01T13:00:00Z",
        trigger: "Schedule",
      },
    });
    expect(missed(world)).toBe(0);
  });

  test("makes the same run again when its status was not written, and that is no other run", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    const first = world.look(NOON + HOUR, false);
    expect(first.create).toHaveLength(1);
    world.runs = [];
    expect(world.look(NOON + HOUR + 60_000, false).create).toEqual(first.create);
    expect(world.settle().create).toEqual([]);
    expect(world.ids).toHaveLength(1);
  });

  test("catches up once after a downtime, for the last time only, and counts the others", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    const plan = world.look(NOON + 400 * HOUR + 60_000);
    expect(plan.create.map(({ spec }) => spec.runId)).toEqual(["schedule-20300118T040000Z-a"]);
    expect(plan.events).toContainEqual(expect.objectContaining({ type: "Warning", reason: "ScheduleMissed" }));
    expect(missed(world)).toBe(399);
    expect(world.settle().create).toEqual([]);
    expect(world.ids).toHaveLength(1);
  });

  test("does not catch up with a time that is later than the starting deadline", () => {
    const world = scheduled("0 0 * * *", { deadline: 600_000 });
    world.settle();
    world.settle(NOON + 12 * HOUR + 600_001);
    expect(world.ids).toEqual([]);
    expect(world.policy.status?.schedule).toMatchObject({ lastAt: "2030-01-02T00:00:00Z", missed: 1 });
    world.settle(NOON + 36 * HOUR + 600_000);
    expect(times(world)).toEqual(["20300103T000000Z"]);
    expect(missed(world)).toBe(1);
  });

  test("has no run for the time it was suspended, and none at once when it goes on", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    world.edit({ suspend: true });
    world.settle(NOON + 60_000);
    expect(world.policy.status?.schedule?.nextAt).toBeUndefined();
    expect(world.settle(NOON + 5 * HOUR + 60_000).nextLookAt).toBeUndefined();
    world.edit({ suspend: false });
    expect(world.settle(NOON + 5 * HOUR + 120_000).nextLookAt).toBe(NOON + 6 * HOUR);
    expect(world.ids).toEqual([]);
    expect(missed(world)).toBe(0);
    world.settle(NOON + 6 * HOUR);
    expect(times(world)).toEqual(["20300101T180000Z"]);
  });

  test("that was suspended and went on while nobody looked gets no run for that time either", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    world.edit({ suspend: true });
    world.edit({ suspend: false });
    world.settle(NOON + 5 * HOUR + 61_000);
    expect(world.ids).toEqual([]);
    expect(missed(world)).toBe(5);
  });

  test("that is due just when the policy is edited is not lost", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    world.edit({ batchSize: 10 });
    world.settle(NOON + HOUR + 500);
    expect(times(world)).toEqual(["20300101T130000Z"]);
  });

  test("that is changed begins anew: a time of the new one that has passed gets no run", () => {
    const world = scheduled("0 0 1 * *");
    world.settle();
    world.accepted = acceptedPolicyOf({
      schedule: { ticks: ticksOf("*/10 * * * *"), expireAfterMs: 30 * DAY, startingDeadlineMs: HOUR },
    });
    world.edit({ schedule: "*/10 * * * *" });
    world.settle(NOON + 5 * HOUR + 1);
    expect(world.ids).toEqual([]);
    expect(world.policy.status?.schedule?.nextAt).toBe("2030-01-01T17:10:00Z");
  });

  test("is kept while the policy is not accepted, and nothing is looked at for its sake", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    const { schedule } = world.policy.status ?? {};
    const { accepted } = world;
    world.accepted = undefined;
    expect(world.settle(NOON + 3 * HOUR).nextLookAt).toBeUndefined();
    expect(world.policy.status?.schedule).toEqual(schedule);
    world.accepted = accepted;
    world.settle(NOON + 3 * HOUR + 1);
    expect(times(world)).toEqual(["20300101T150000Z"]);
  });

  test("that is removed goes out of the status", () => {
    const world = scheduled("0 * * * *");
    world.settle();
    world.accepted = acceptedPolicyOf();
    world.edit({ schedule: undefined as never });
    world.settle();
    expect(world.policy.status?.schedule).toBeUndefined();
  });

  test("makes no run of a scope whose last scheduled one is still open, and says so", () => {
    const world = scheduled("0 * * * *", { scopes: ["a", "b"] });
    world.settle();
    world.settle(NOON + HOUR);
    world.finish("schedule-20300101T130000Z-b", "Succeeded");
    const plan = world.look(NOON + 2 * HOUR);
    expect(plan.create.map(({ spec }) => spec.scope)).toEqual(["b"]);
    expect(plan.events).toContainEqual(expect.objectContaining({ reason: "RunStillOpen" }));
    world.settle();
    world.finish("schedule-20300101T130000Z-a", "Failed");
    expect(world.settle().create).toEqual([]);
    expect(world.look(NOON + 3 * HOUR).create.map(({ spec }) => spec.scope)).toEqual(["a"]);
  });

  test("with very many scopes makes their runs over several looks, and is settled only after the last", () => {
    const scopes = Array.from({ length: MOST_CREATED + 5 }, (_, n) => `s${n}`);
    const world = scheduled("0 * * * *", { scopes });
    world.settle();
    const first = world.look(NOON + HOUR);
    expect(first.create).toHaveLength(MOST_CREATED);
    expect(first.nextLookAt).toBe(NOON + HOUR);
    expect(world.policy.status?.schedule?.lastAt).toBe("2030-01-01T12:00:00Z");
    expect(world.look().create).toHaveLength(5);
    expect(world.policy.status?.schedule?.lastAt).toBe("2030-01-01T13:00:00Z");
    expect(world.settle().create).toEqual([]);
    expect(new Set(world.ids).size).toBe(scopes.length);
  });
});

describe("summer time", () => {
  /** Looks once an hour through a day. @param day UTC midnight */
  function through(expression: string, day: string): World {
    const world = scheduled(expression, { timeZone: "Europe/Warsaw" });
    const begin = Date.parse(day);
    world.settle(begin);
    for (let at = begin; at <= begin + DAY; at += HOUR / 2) {
      world.settle(at);
      finishAll(world);
    }
    return world;
  }

  test("has one run of a time that the clock leaves out, when the gap ends", () => {
    expect(times(through("30 2 * * *", "2026-03-29T00:00:00Z"))).toEqual(["20260329T010000Z"]);
  });

  test("has one run of a daily time that comes twice", () => {
    const world = through("30 2 * * *", "2026-10-25T00:00:00Z");
    expect(times(world)).toEqual(["20261025T003000Z"]);
    expect(missed(world)).toBe(0);
  });

  test("has a run for every hour that passes, also for the one that comes twice", () => {
    const world = through("0 * * * *", "2026-10-25T00:00:00Z");
    expect(times(world)).toHaveLength(24);
    expect(new Set(times(world)).size).toBe(24);
  });
});

test("the id of a scheduled run is at most 128 characters, and another one for each scope and time", () => {
  const long = `${"x".repeat(127)}a`;
  const ids = [long, `${"x".repeat(127)}b`, "x".repeat(102), "x".repeat(103), "a"].map((scope) =>
    scheduledRunId(NOON, scope),
  );
  expect(new Set([...ids, scheduledRunId(NOON + 60_000, long)]).size).toBe(6);
  for (const id of ids) expect(id.length).toBeLessThanOrEqual(128);
  expect(ids[2]).toBe(`schedule-20300101T120000Z-${"x".repeat(102)}`);
});
