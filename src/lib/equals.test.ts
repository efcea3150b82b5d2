import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equals } from "./equals.ts";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: fc.constantFrom("a", "b", "é", "š", "\ud800", "😀"), maxLength: 5 }),
);

describe("equals", () => {
  it("agrees with === on text of any characters", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        // What UTF-8 cannot say is written as the replacement character.
        fc.pre([a, b].every((one) => !/[\ud800-\udfff]/u.test(one)));
        expect([equals(a, b), equals(a, a), equals(`${a}.`, `${b}.`)]).toEqual([a === b, true, a === b]);
      }),
    );
  });

  it("agrees with the comparison of bytes, of whatever length", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (a, b) => {
        expect([equals(a, b), equals(a, Uint8Array.from(a))]).toEqual([Buffer.compare(a, b) === 0, true]);
      }),
    );
  });

  it("sees a difference behind text that takes more bytes than it has characters", () => {
    for (const [head, length] of [
      ["é", 62],
      ["\u0100\u0100", 4],
      ["😀", 200],
    ] as const) {
      const long = head + "a".repeat(length);
      expect([equals(`${long}x`, `${long}y`), equals(`${long}xy`, `${long}zw`), equals(long, long)]).toEqual([
        false,
        false,
        true,
      ]);
    }
  });

  it("keeps nothing of one comparison for the next", () => {
    expect(equals("aaaa", "aaaa")).toBe(true);
    expect(equals("aaaé", "aaaa")).toBe(false);
    expect(equals("aaaa", "aaaé")).toBe(false);
    // The low byte of U+0161 is that of "a".
    expect(equals("aaaš", "aaaa")).toBe(false);
    expect(equals("", "")).toBe(true);
  });
});
