import { describe, expect, it } from "vitest";
import type { RouteObservation } from "../../../routes/observations.ts";
import { judge } from "./verdict.ts";

const sum = (more: Partial<RouteObservation>): RouteObservation => ({
  key: "0123456789abcdef",
  requests: 0,
  verified: 0,
  refused: 0,
  slow: 0,
  ...more,
});

describe("verification", () => {
  it.each([
    [9, 9, false],
    [10, 5, false],
    [10, 6, true],
    [1_000, 501, true],
  ])("of %i requests, of which %i were refused, fails: %s", (requests, refused, expected) => {
    expect(judge(sum({ requests, refused })).isFailing).toBe(expected);
  });

  it("fails on until a good part matches, or the window is empty", () => {
    const before = { isFailing: true, isSlow: false };
    expect(judge(sum({ requests: 100, refused: 45 }), before).isFailing).toBe(true);
    expect(judge(sum({ requests: 3, refused: 3 }), before).isFailing).toBe(true);
    expect(judge(sum({ requests: 100, refused: 40 }), before).isFailing).toBe(false);
    expect(judge(sum({}), before).isFailing).toBe(false);
  });
});

describe("answers", () => {
  it.each([
    [19, 19, false],
    [20, 1, true],
    [100, 1, false],
    [1_000, 11, true],
  ])("of which there were %i, %i late ones, are slow: %s", (requests, slow, expected) => {
    expect(judge(sum({ requests, slow })).isSlow).toBe(expected);
  });

  it("are slow until hardly one is late", () => {
    const before = { isFailing: false, isSlow: true };
    expect(judge(sum({ requests: 1_000, slow: 6 }), before).isSlow).toBe(true);
    expect(judge(sum({ requests: 1_000, slow: 5 }), before).isSlow).toBe(false);
  });
});
