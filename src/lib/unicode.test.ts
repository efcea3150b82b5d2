import { describe, expect, it } from "vitest";
import { isUnicode } from "./unicode.ts";

describe("isUnicode", () => {
  it("takes text of any script, pairs of surrogates included", () => {
    expect(["", "plain", "ä€", "😀", "\u0000"].every(isUnicode)).toBe(true);
  });

  it("refuses half of a pair, wherever it stands", () => {
    expect(["\ud800", "a\ude00b", "\ude00\ud83d", "😀\ud83d"].some(isUnicode)).toBe(false);
  });
});
