import { describe, expect, test } from "vitest";
import { producersOf } from "./producers.ts";
import { DAY, HOUR, NOON, runOf } from "./testing.ts";
import { rfc3339, type RunView } from "./views.ts";

let ids = 0;
const pushed = (at: number, scope = "a", trigger: RunView["spec"]["trigger"] = "Push") =>
  runOf(`p${(ids += 1)}`, { scope, receivedAt: rfc3339(at), trigger: trigger ?? "Push" });
const reason = (runs: readonly RunView[], intervalMs?: number, now = NOON) =>
  producersOf(runs, intervalMs, now)?.reason;

describe("several producers", () => {
  test("are a schedule and pushes of the last two periods", () => {
    expect(reason([pushed(NOON - HOUR)], HOUR)).toBe("ScheduleAndPush");
    expect(reason([pushed(NOON - 2 * HOUR)], HOUR)).toBeUndefined();
    expect(reason([pushed(NOON - HOUR)], undefined)).toBeUndefined();
  });

  test("are pushes for one scope that are closer than half a period, however far apart their producers' times are", () => {
    for (const gap of [HOUR, 6 * HOUR, 11 * HOUR, 13 * HOUR, 20 * HOUR]) {
      const daily = [NOON - 2 * DAY + HOUR, NOON - DAY + HOUR].flatMap((at) => [pushed(at), pushed(at + gap)]);
      expect(reason(daily, undefined, NOON + HOUR), `${gap / HOUR} h`).toBe("SeveralPushes");
    }
  });

  test("are not one producer whose pushes come a bit early or late", () => {
    expect(reason([pushed(NOON - DAY + 60_000), pushed(NOON - 60_000)])).toBeUndefined();
  });

  test("are not pushes for different scopes, nor runs by hand, nor the schedule's own", () => {
    expect(reason([pushed(NOON - 2), pushed(NOON - 1, "b")])).toBeUndefined();
    expect(reason([pushed(NOON - 2, "a", "Manual"), pushed(NOON - 1)])).toBeUndefined();
    expect(reason([pushed(NOON - 2, "a", "Schedule"), pushed(NOON - 1, "a", "Schedule")], HOUR)).toBeUndefined();
  });

  test("are forgotten when one has stopped for two periods", () => {
    const runs = [pushed(NOON - 3 * DAY), pushed(NOON - 3 * DAY + HOUR), pushed(NOON - DAY), pushed(NOON)];
    expect(reason(runs)).toBeUndefined();
  });
});
