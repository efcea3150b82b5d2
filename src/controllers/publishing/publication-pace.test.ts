import { expect, test } from "vitest";
import { PublicationPace } from "./publication-pace.ts";

function paceAt() {
  const clock = { now: 0, monotonic: () => clock.now };
  return { clock, pace: new PublicationPace(clock) };
}

test("a route is published ten times at once, and then once a second; others are not held up", () => {
  const { clock, pace } = paceAt();
  const taken = Array.from({ length: 11 }, () => pace.take("shop/flapping"));
  expect(taken).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000]);
  expect(pace.take("shop/quiet")).toBe(0);
  clock.now = 400;
  expect(pace.take("shop/flapping")).toBe(600);
  clock.now = 1_000;
  expect(pace.take("shop/flapping")).toBe(0);
  expect(pace.take("shop/flapping")).toBe(1_000);
});

test("a route that has been quiet for so long that its burst is whole again is not remembered", () => {
  const { clock, pace } = paceAt();
  for (let n = 0; n < 100; n += 1) pace.take(`shop/${n}`);
  clock.now = 9_999;
  pace.take("shop/99");
  expect(pace.size).toBe(100);
  clock.now = 10_000;
  pace.take("shop/another");
  expect(pace.size).toBe(2);
});
