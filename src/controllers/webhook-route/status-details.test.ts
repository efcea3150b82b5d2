import { describe, expect, it } from "vitest";
import { backlogStatus, destinationsStatus, oneDigit, rotationStatus } from "./status-details.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");

describe("keys", () => {
  it("are shown with the times that belong to them", () => {
    const keys = [
      { id: "0123abcd", use: "Signing", state: "current", since: NOW },
      { id: "4567abcd", use: "Signing", state: "previous", since: NOW, notAfter: NOW + 60_000 },
    ] as const;
    expect(rotationStatus(keys, { tooManyChanges: false, overlapEndsAt: NOW + 60_000 })).toEqual({
      keys: [
        { id: "0123abcd", since: "2026-01-02T03:04:05Z", state: "Current" },
        { id: "4567abcd", since: "2026-01-02T03:04:05Z", notAfter: "2026-01-02T03:05:05Z", state: "Previous" },
      ],
      overlapEndsAt: "2026-01-02T03:05:05Z",
    });
  });

  it("are left out where there are none", () => {
    expect(rotationStatus([], { tooManyChanges: false })).toBeUndefined();
  });
});

describe("destinations", () => {
  it("show the circuit that is known, and else what was known before", () => {
    const before = [{ name: "b", circuit: "Open" as const }, { name: "gone" }];
    expect(destinationsStatus(["a", "b", "c"], [{ name: "a", circuit: "Closed" }], before)).toEqual([
      { name: "a", circuit: "Closed" },
      { name: "b", circuit: "Open" },
      { name: "c" },
    ]);
  });

  it("show since when and why one is disabled", () => {
    const circuits = [{ name: "a", circuit: "Open" as const, disabledSince: NOW, reason: "Gone" }];
    expect(destinationsStatus(["a"], circuits, undefined)).toEqual([
      { name: "a", circuit: "Open", disabledSince: "2026-01-02T03:04:05Z", reason: "Gone" },
    ]);
  });
});

describe("the backlog", () => {
  it.each([
    [0, 0],
    [1, 1],
    [9, 9],
    [10, 10],
    [14, 10],
    [15, 20],
    [96, 100],
    [1_499, 1_000],
    [1_000_000, 1_000_000],
    [-1, 0],
  ])("shows %i as %i", (count, shown) => {
    expect(oneDigit(count)).toBe(shown);
  });

  const sample = (waiting: number, finished = 0) => ({ waiting, finished, deadLetters: 23 });

  it.each([
    ["Empty", sample(0), sample(5)],
    ["Growing", sample(200, 1), sample(100)],
    ["Draining", sample(100, 1), sample(200)],
    ["Draining", sample(104, 1), sample(100)],
    ["Stuck", sample(200), sample(100)],
    ["Growing", sample(5), sample(0)],
  ] as const)("is %s", (state, current, earlier) => {
    expect(backlogStatus({ current, earlier }, undefined)).toMatchObject({ state, deadLetters: 20 });
  });

  it("keeps its state without an earlier look, unless it was empty", () => {
    expect(backlogStatus({ current: sample(5) }, { state: "Stuck" }).state).toBe("Stuck");
    expect(backlogStatus({ current: sample(5) }, { state: "Empty" }).state).toBe("Draining");
    expect(backlogStatus({ current: sample(5) }, undefined).state).toBe("Draining");
  });
});
