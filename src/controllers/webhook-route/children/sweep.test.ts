import { expect, test } from "vitest";
import { isPlausible } from "./sweep.ts";

test.each([
  [9, 9, true],
  [10, 10, false],
  [10, 50, true],
  [11, 50, false],
  [200, 1_000, true],
  [201, 1_000, false],
  [0, 0, true],
])("a sweep that would take %i of %i is plausible: %s", (orphans, total, expected) => {
  expect(isPlausible(orphans, total)).toBe(expected);
});
