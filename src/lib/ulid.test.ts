import { decodeTime } from "ulid";
import { describe, expect, it } from "vitest";
import { monotonicUlids } from "./ulid.ts";

describe("monotonicUlids", () => {
  it("gives ids that only grow, also when the clock stands still or steps back", () => {
    const next = monotonicUlids();
    const times = [1_000, 1_000, 1_001, 999, 1_001, 1_002, ...Array.from({ length: 500 }, (_, i) => 2_000 + i)];
    const ids = times.map((time) => next(time));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(id))).toBe(true);
  });

  it("carries the time as the ULID specification says", () => {
    expect(decodeTime(monotonicUlids()(1_760_000_000_123))).toBe(1_760_000_000_123);
  });

  it("does not repeat itself over generators", () => {
    expect(monotonicUlids()(5)).not.toBe(monotonicUlids()(5));
  });
});
