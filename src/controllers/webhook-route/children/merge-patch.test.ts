import { describe, expect, test } from "vitest";
import { mergePatchOf } from "./merge-patch.ts";

describe("mergePatchOf", () => {
  test("names what changed, and nothing else", () => {
    const before = { url: "a", rotation: { keys: [1], overlapEndsAt: "x" }, backlog: { state: "Empty" } };
    const after = { url: "a", rotation: { keys: [1, 2] }, backlog: { state: "Empty" }, observedGeneration: 2 };
    expect(mergePatchOf(before, after)).toEqual({
      rotation: { keys: [1, 2], overlapEndsAt: null },
      observedGeneration: 2,
    });
  });

  test("removes a field that is gone or undefined", () => {
    expect(mergePatchOf({ url: "a", other: 1 }, { url: undefined })).toEqual({ url: null, other: null });
  });

  test("is nothing between equals", () => {
    expect(mergePatchOf({ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 1 }] }, d: undefined })).toBeUndefined();
  });
});
