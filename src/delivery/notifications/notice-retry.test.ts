import { expect, test } from "vitest";
import { noticeRetryMs } from "./notice-retry.ts";

const HOUR_MS = 3_600_000;
const MIDDLE = 0.5;

test("the tries of a notice end within a day, and are neither few nor many", () => {
  let now = 0;
  let tries = 1;
  for (; ; tries++) {
    const delay = noticeRetryMs({ at: 0, attempt: tries }, now, MIDDLE);
    if (delay === undefined) break;
    now += delay;
  }
  expect(tries).toBeGreaterThan(12);
  expect(tries).toBeLessThan(30);
  expect(now).toBeGreaterThan(20 * HOUR_MS);
  expect(now).toBeLessThanOrEqual(24 * HOUR_MS);
});

test("delays grow, and are spread by a tenth", () => {
  const delays = [1, 2, 3, 4].map((attempt) => noticeRetryMs({ at: 0, attempt }, 0, MIDDLE));
  expect(delays).toEqual([5_000, 30_000, 120_000, 600_000]);
  expect([0, 0.999999].map((random) => noticeRetryMs({ at: 0, attempt: 1 }, 0, random))).toEqual([4_500, 5_500]);
});

test("a pause that the other side asks for only lengthens, and no longer than the day", () => {
  const retry = (atLeastMs: number) => noticeRetryMs({ at: 0, attempt: 2, atLeastMs }, 0, MIDDLE);
  expect([retry(1_000), retry(90_000), retry(25 * HOUR_MS)]).toEqual([30_000, 90_000, undefined]);
});

test("a notice of the day before yesterday is not tried again", () => {
  expect(noticeRetryMs({ at: 0, attempt: 1 }, 48 * HOUR_MS, MIDDLE)).toBeUndefined();
});
