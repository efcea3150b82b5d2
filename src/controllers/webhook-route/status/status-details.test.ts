import { describe, expect, it } from "vitest";
import { destinationsStatus, rotationStatus } from "./status-details.ts";

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

  it("are those that verify: a token or credential beside them is none of a rotation", () => {
    const key = { id: "0123abcd", state: "current", since: NOW } as const;
    const keys = [
      { ...key, use: "Signing" },
      { ...key, id: "89ab0123", use: "VerifyToken" },
    ] as const;
    expect(rotationStatus(keys, undefined)?.keys?.map(({ id }) => id)).toEqual(["0123abcd"]);
    expect(rotationStatus([{ ...key, use: "ApiCredential" }], undefined)).toBeUndefined();
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
