import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeDigest, decodeKey, encodeDigest } from "./encoding.ts";

describe("decodeDigest", () => {
  it("reads back what was encoded", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.constantFrom("hex", "hex-lower", "base64", "base64url"),
        (bytes, encoding) => {
          const digest = Buffer.from(bytes);
          expect(decodeDigest(encodeDigest(digest, encoding), encoding, 32)).toEqual(digest);
        },
      ),
    );
  });

  it("takes no text but the canonical one for a digest", () => {
    const digest = Buffer.alloc(32, 0xfb);
    fc.assert(
      fc.property(
        fc.constantFrom("hex-lower" as const, "base64" as const),
        fc.nat(70),
        fc.constantFrom("", " ", "\n", "=", "A", "a", "-", "_", "é", "\u0000"),
        fc.nat(1),
        (encoding, at, insert, drop) => {
          const text = encodeDigest(digest, encoding);
          const changed = text.slice(0, at) + insert + text.slice(at + drop);
          const decoded = decodeDigest(changed, encoding, 32);
          expect(changed === text || decoded === undefined || !decoded.equals(digest)).toBe(true);
        },
      ),
    );
  });

  it.each([
    ["unpadded base64", "base64", Buffer.alloc(32).toString("base64").replace("=", "")],
    ["base64 with stray low bits", "base64", `${Buffer.alloc(32).toString("base64").slice(0, -2)}B=`],
    ["a shorter digest", "hex", "00".repeat(31)],
    ["a longer digest", "hex", "00".repeat(33)],
    ["upper case where only lower is allowed", "hex-lower", "AA".repeat(32)],
  ] as const)("refuses %s", (_name, encoding, text) => {
    expect(decodeDigest(text, encoding, 32)).toBeUndefined();
  });
});

describe("decodeKey", () => {
  it("reads base64 with or without padding", () => {
    expect([decodeKey("a2V5cw=="), decodeKey("a2V5cw")]).toEqual([Buffer.from("keys"), Buffer.from("keys")]);
  });

  it.each(["", "A", "A=", "==", "not base64!"])("takes %j for no key: an empty one anybody could sign with", (text) => {
    expect(decodeKey(text)).toBeUndefined();
  });
});
