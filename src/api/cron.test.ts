import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_COUNT, parseSchedule, type Schedule } from "./cron.ts";

const NOW = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;

function scheduleOf(text: string, timeZone = "UTC"): Schedule {
  const parsed = parseSchedule(text, timeZone, NOW);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.schedule;
}

function timesOf(schedule: Schedule, from: string, number: number): string[] {
  const times: string[] = [];
  let at = Date.parse(from);
  while (times.length < number) {
    at = schedule.next(at) ?? Number.NaN;
    times.push(new Date(at).toISOString().slice(0, 16));
  }
  return times;
}

describe("parseSchedule", () => {
  it.each([
    "30 2 * * *",
    "*/5 0-6,22 1,15 * 1-5",
    "0 0 29 2 *",
    "0 0 * jan-MAR sun",
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
  ])("reads %s", (text) => {
    expect(parseSchedule(text, "UTC", NOW)).toMatchObject({ ok: true });
  });

  it.each([
    ["", "schedule"],
    ["* * * *", "schedule"],
    ["* * * * * *", "schedule"],
    ["@yearly", "schedule"],
    ["@every 5m", "schedule"],
    ["H 0 * * *", "schedule"],
    ["0 0 L * *", "schedule"],
    ["0 0 * * 5#2", "schedule"],
    ["0 0 ? * *", "schedule"],
    ["60 * * * *", "schedule"],
    ["0 0 * foo *", "schedule"],
    ["0  0 * * *", "schedule"],
    ["TZ=UTC 0 0 * * *", "schedule"],
    ["0 0 31 2 *", "schedule"],
  ])("refuses the schedule %j", (text, at) => {
    expect(parseSchedule(text, "UTC", NOW)).toMatchObject({ ok: false, at });
  });

  it.each(["", "Local", "CET6", "Europe/Nowhere", "+02:00", "Europe/", "../etc"])(
    "refuses the time zone %j",
    (zone) => {
      expect(parseSchedule("0 0 * * *", zone, NOW)).toMatchObject({ ok: false, at: "timeZone" });
    },
  );
});

describe("a schedule over a change of the clocks in Warsaw, 2026", () => {
  it("fires at the end of an hour that is left out", () => {
    const times = timesOf(scheduleOf("30 2 * * *", "Europe/Warsaw"), "2026-03-28T00:00:00Z", 3);
    expect(times).toEqual(["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]);
  });

  it("fires once in an hour that comes twice", () => {
    const times = timesOf(scheduleOf("30 2 * * *", "Europe/Warsaw"), "2026-10-24T00:00:00Z", 3);
    expect(times).toEqual(["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]);
  });

  it("fires every half hour all the same", () => {
    const halves = scheduleOf("*/30 * * * *", "Europe/Warsaw");
    expect(halves.count(Date.UTC(2026, 9, 24, 22), Date.UTC(2026, 9, 25, 22))).toBe(48);
    expect(halves.count(Date.UTC(2026, 2, 28, 23), Date.UTC(2026, 2, 29, 23))).toBe(48);
  });
});

describe("a schedule", () => {
  it("counts times after a moment up to another, and stops counting", () => {
    const hourly = scheduleOf("@hourly");
    expect(hourly.count(NOW, NOW)).toBe(0);
    expect(hourly.count(NOW - 1, NOW)).toBe(1);
    expect(hourly.count(NOW, NOW + 400 * HOUR_MS)).toBe(400);
    expect(hourly.count(NOW, NOW + 1e6 * HOUR_MS)).toBe(MAX_COUNT);
  });

  it("knows a day that comes every four years", () => {
    expect(timesOf(scheduleOf("0 0 29 2 *"), "2026-01-01T00:00:00Z", 2)).toEqual([
      "2028-02-29T00:00",
      "2032-02-29T00:00",
    ]);
  });

  it("has a latest time that is its own, and none between it and now", () => {
    const texts = fc.constantFrom("30 2 * * *", "*/5 * * * *", "0 0 31 * *", "15 1-4 * * 0", "@hourly");
    const zones = fc.constantFrom("UTC", "Europe/Warsaw", "America/New_York", "Asia/Kolkata");
    const moment = fc.integer({ min: NOW, max: NOW + 400 * 24 * HOUR_MS });
    fc.assert(
      fc.property(texts, zones, moment, (text, zone, at) => {
        const schedule = scheduleOf(text, zone);
        const latest = schedule.latest(at) ?? Number.NaN;
        expect(latest).toBeLessThanOrEqual(at);
        expect(schedule.latest(latest)).toBe(latest);
        expect(schedule.next(latest)).toBeGreaterThan(at);
        expect(schedule.next(latest - 1)).toBe(latest);
        expect(schedule.count(latest, at)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
