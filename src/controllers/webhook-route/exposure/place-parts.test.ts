import { describe, expect, it } from "vitest";
import { shortHash } from "../../../lib/hash.ts";
import { dealOut } from "./place-parts.ts";

const same = (text: string) => text;
const names = (count: number) => Array.from({ length: count }, (_, n) => `name-${n}`);

describe("dealing out", () => {
  it("makes no part of nothing, and one of what fits", () => {
    expect(dealOut([], same, 3)).toEqual([]);
    expect(dealOut(["b", "c", "a"], same, 3)).toEqual([{ n: 0, items: ["a", "b", "c"] }]);
  });

  it("keeps to the limit and loses nothing", () => {
    const parts = dealOut(names(1_000), same, 100);
    for (const { items } of parts) expect(items.length).toBeLessThanOrEqual(100);
    expect(parts.flatMap(({ items }) => items).toSorted()).toEqual(names(1_000).toSorted());
    expect(parts.map(({ n }) => n)).toEqual(parts.map(({ n }) => n).toSorted((a, b) => a - b));
  });

  it("stays within bounds when the keys were chosen to fall into one part", () => {
    const chosen = names(40_000)
      .filter((name) => Number.parseInt(shortHash(name).slice(0, 8), 16) % 1_024 === 0)
      .slice(0, 30);
    expect(chosen.length).toBeGreaterThan(20);
    const parts = dealOut(chosen, same, 4);
    expect(parts).toHaveLength(Math.ceil(chosen.length / 4));
    for (const { items } of parts) expect(items.length).toBeLessThanOrEqual(4);
  });
});
