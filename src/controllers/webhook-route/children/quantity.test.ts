import { describe, expect, it } from "vitest";
import { quantityOf, sameQuantity } from "./quantity.ts";

describe("quantities", () => {
  it.each([
    ["0.5", "500m"],
    ["0.7", "700m"],
    [1, "1"],
    ["1000m", 1],
    ["1.5Gi", "1536Mi"],
    ["1e3", "1k"],
    ["100u", "100000n"],
    ["2E", "2000P"],
  ])("%s is the same as %s", (a, b) => {
    expect(sameQuantity(a, b)).toBe(true);
  });

  it.each([
    ["1G", "1Gi"],
    ["1", "2"],
    ["a", "a"],
    [undefined, undefined],
    ["", ""],
    ["1Mb", "1Mb"],
    [true, 1],
  ])("%s is not the same as %s", (a, b) => {
    expect(sameQuantity(a, b)).toBe(false);
  });

  it("have an exact value", () => {
    expect(["12", "+1", "-1.5", ".5", "5.", "300m", "1Ki"].map(quantityOf)).toEqual([12, 1, -1.5, 0.5, 5, 0.3, 1024]);
  });
});
