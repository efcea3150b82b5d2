import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBytes, decodeDigest, decodeKey, decodeSecret, digestForm, encodeDigest } from "./encoding.ts";

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

describe("decodeBytes", () => {
  it.each([
    ["", undefined],
    ["AA==", Buffer.alloc(1)],
    ["AAAA", Buffer.alloc(3)],
    ["AAAAAA==", undefined],
    ["AAA", undefined],
    ["AB==", undefined],
    ["A A=", undefined],
  ])("reads %j as up to 3 bytes of base64", (text, expected) => {
    expect(decodeBytes(text, "base64", 3)).toEqual(expected);
  });
});

describe("digestForm", () => {
  const digest = Buffer.from("fb".repeat(32), "hex");
  const encodings = ["hex", "hex-lower", "base64", "base64url"] as const;

  it("reads what was encoded as it is, whatever the length of the digest", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 64 }), fc.constantFrom(...encodings), (bytes, encoding) => {
        const text = encodeDigest(Buffer.from(bytes), encoding);
        const form = digestForm(encoding, bytes.length);
        expect([form.read(text), form.isWritten(text)]).toEqual([text, true]);
      }),
    );
  });

  it("reads no text as a digest that the strict decoder would not read as the same one", () => {
    const noise = fc.tuple(fc.nat(70), fc.constantFrom("", " ", "\n", "=", "F", "-", "é"), fc.nat(1));
    fc.assert(
      fc.property(fc.constantFrom(...encodings), noise, (encoding, [at, insert, drop]) => {
        const right = encodeDigest(digest, encoding);
        const text = right.slice(0, at) + insert + right.slice(at + drop);
        const isSame = digestForm(encoding, 32).read(text) === right;
        expect(isSame).toBe(decodeDigest(text, encoding, 32)?.equals(digest) ?? false);
      }),
    );
  });

  it.each([
    ["hex", "é".repeat(64)],
    ["hex-lower", "A".repeat(64)],
    ["base64", "=".repeat(44)],
    ["base64url", "+".repeat(43)],
  ] as const)("tells text that is no %s", (encoding, text) => {
    expect(digestForm(encoding, 32).isWritten(text)).toBe(false);
  });
});

describe("decodeSecret", () => {
  it.each([
    ["raw", " 0A\n", " 0A\n"],
    ["raw", "", undefined],
    ["hex", "4a4B", "JK"],
    ["hex", "4a4", undefined],
    ["hex", "", undefined],
    ["hex", "4a 4b", undefined],
    ["base64", "Sks=", "JK"],
    ["base64", "Sks", "JK"],
    ["base64", "", undefined],
    ["base64", "S-s=", undefined],
  ] as const)("in %s reads %j as %j", (encoding, text, expected) => {
    expect(decodeSecret(Buffer.from(text), encoding)?.toString()).toBe(expected);
  });
});

describe("decodeKey", () => {
  it.each([
    ["raw", "\0\0"],
    ["hex", "0000"],
    ["base64", "AAAA"],
  ] as const)(
    "finds no key in zeros, written as %s: an HMAC with them is the one with the empty key",
    (encoding, text) => {
      expect(decodeSecret(Buffer.from(text), encoding)).toBeUndefined();
      expect(decodeKey("AAAAAAAAAAAAAAAA")).toBeUndefined();
    },
  );

  it("reads base64 with or without padding", () => {
    expect([decodeKey("a2V5cw=="), decodeKey("a2V5cw")]).toEqual([Buffer.from("keys"), Buffer.from("keys")]);
  });

  it.each(["", "A", "A=", "==", "not base64!"])("takes %j for no key: an empty one anybody could sign with", (text) => {
    expect(decodeKey(text)).toBeUndefined();
  });
});
