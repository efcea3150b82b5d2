import { expect, test } from "vitest";
import { implausibleNamespaces, isPlausible } from "./sweep.ts";

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

test("one namespace that lost nearly all it had is held back, though it is little of the whole", () => {
  const many = Array.from({ length: 1_000 }, (_, n) => `tenant-${n % 50}`);
  const all = [...many, ...Array.from({ length: 12 }, () => "shop"), ...Array.from({ length: 12 }, () => "gone")];
  const orphans = [...all.filter((name) => ["shop", "gone"].includes(name)), "tenant-1"];
  expect(isPlausible(orphans.length, all.length)).toBe(true);
  expect([...implausibleNamespaces(orphans, all, (name) => name !== "gone")]).toEqual(["shop"]);
});
