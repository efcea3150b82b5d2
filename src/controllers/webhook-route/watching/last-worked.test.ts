import { expect, test } from "vitest";
import { LastWorked } from "./last-worked.ts";

test("a key waits for the rest of its interval, one that was never worked on does not", () => {
  const worked = new LastWorked(1_000);
  worked.note("a", 500);
  expect(worked.waitMs("a", 900)).toBe(600);
  expect(worked.waitMs("b", 900)).toBeLessThanOrEqual(0);
  worked.note("a", 1_600);
  expect(worked.waitMs("a", 1_700)).toBe(900);
});

test("keys whose interval is over are not remembered, however many there were", () => {
  const worked = new LastWorked(1_000);
  for (let n = 0; n < 5_000; n += 1) worked.note(`forged-${n}`, n);
  expect(worked.size).toBeLessThanOrEqual(1_000);
  worked.note("a", 9_000);
  expect(worked.size).toBe(1);
});
