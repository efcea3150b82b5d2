import { describe, expect, it } from "vitest";
import { countInSteps } from "./counting.ts";

/** Steps that find one each; the last one ends it. */
function steps(most: number) {
  let made = 0;
  return async () => {
    made += 1;
    return { found: 1, scripts: 1, isEnd: made === most };
  };
}

describe("a count", () => {
  it("goes to the end when that is near", async () => {
    expect(await countInSteps(steps(1))).toEqual({ count: 1, atLeast: false });
    expect(await countInSteps(steps(100))).toEqual({ count: 100, atLeast: false });
  });

  it("is given up after so many scripts, and says so", async () => {
    expect(await countInSteps(steps(101))).toEqual({ count: 100, atLeast: true });
    const large = async () => ({ found: 7, scripts: 50, isEnd: false });
    expect(await countInSteps(large)).toEqual({ count: 14, atLeast: true });
  });

  it("is given up after a while, and says so", async () => {
    const slow = async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, 700);
      });
      return { found: 1, scripts: 1, isEnd: false };
    };
    expect(await countInSteps(slow)).toEqual({ count: 1, atLeast: true });
  });

  it("that fails says so, and those after it are none the slower", async () => {
    await expect(countInSteps(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
    expect(await countInSteps(steps(2))).toEqual({ count: 2, atLeast: false });
  });
});
