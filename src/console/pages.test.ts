import { describe, expect, it } from "vitest";
import { cursorOf, gather, positionOf } from "./pages.ts";
import { Refused } from "./refusals.ts";

/** A store of numbers, in pages of at most 3. */
const numbers = (count: number) => {
  const asked: number[] = [];
  const ask = async ({ limit, cursor = "0" }: { limit: number; cursor?: string }) => {
    asked.push(limit);
    const from = Number(cursor);
    const to = Math.min(from + Math.min(limit, 3), count);
    const items = Array.from({ length: to - from }, (_, n) => from + n);
    return { items, ...(to < count && { next: String(to) }) };
  };
  return { ask, asked };
};

describe("a page", () => {
  it("is filled up to its limit, however the store pages", async () => {
    const { ask } = numbers(20);
    const first = await gather("events", { limit: 7 }, ask, (n) => ({ n }));
    expect(first.items).toHaveLength(7);
    const second = await gather("events", { limit: 500, cursor: first.next }, ask, (n) => ({ n }));
    expect(second).toEqual({ items: Array.from({ length: 13 }, (_, n) => ({ n: n + 7 })) });
  });

  it("ends after about 1 MiB, and goes on with the next", async () => {
    const { ask } = numbers(20);
    const { items, next } = await gather("events", { limit: 500 }, ask, (n) => ({ n, text: "x".repeat(200_000) }));
    expect(items).toHaveLength(6);
    expect(positionOf("events", next)).toBe("6");
  });

  it("asks the store for no more than 50 at a time, nor for ever when nothing fits", async () => {
    const { ask, asked } = numbers(20);
    await gather("events", { limit: 500 }, ask, (n) => ({ n }));
    expect(Math.max(...asked)).toBe(50);
    let calls = 0;
    const nothing = async () => ({ items: [], next: String((calls += 1)) });
    const { items, next } = await gather("events", { limit: 10 }, nothing, () => ({}));
    expect([items, calls, positionOf("events", next)]).toEqual([[], 20, "20"]);
  });
});

describe("a cursor", () => {
  it("is good for the list that gave it", () => {
    const position = "1700000000000:1699999999999:01ARZ3NDEKTSV4RRFFQ69G5FAV|~z%C3%BCrich";
    expect(positionOf("deadLetters", cursorOf("deadLetters", position))).toBe(position);
    expect(positionOf("events", undefined)).toBeUndefined();
  });

  it.each([
    ["of another list", cursorOf("deadLetters", "1")],
    ["of no position", cursorOf("events", "-inf")],
    ["with more behind it", cursorOf("events", "1 2")],
    ["that is none", "~"],
  ])("%s is refused", (_what, cursor) => {
    expect(() => positionOf("events", cursor)).toThrow(Refused);
  });
});
