import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type HmacAlgorithm, HmacKey } from "./hmac.ts";

const ALGORITHMS: readonly HmacAlgorithm[] = ["md5", "sha1", "sha256", "sha384", "sha512"];
const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength, size: "max" }).map((array) => Buffer.from(array));
const text = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCodePoint(code)) });

function expected(algorithm: HmacAlgorithm, secret: Buffer, parts: readonly (string | Buffer)[]): string {
  const whole = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part, "latin1") : part)));
  return createHmac(algorithm, secret).update(whole).digest("hex");
}

describe("an HMAC key", () => {
  it("makes the digest of RFC 4231, test case 2", () => {
    const digest = new HmacKey("sha256", Buffer.from("Jefe")).digest(["what do ya want ", Buffer.from("for nothing?")]);
    expect(digest.toString("hex")).toBe("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  });

  it.each(ALGORITHMS)("agrees with Node's HMAC for keys of any length and any parts: %s", (algorithm) => {
    fc.assert(
      fc.property(bytes(1, 200), fc.array(fc.oneof(text, bytes(0, 600)), { maxLength: 5 }), (secret, parts) => {
        expect(new HmacKey(algorithm, secret).digest(parts).toString("hex")).toBe(expected(algorithm, secret, parts));
      }),
    );
  });

  it.each(ALGORITHMS)("agrees with it on both sides of the size that is hashed at once: %s", (algorithm) => {
    const secret = Buffer.from("a key");
    const key = new HmacKey(algorithm, secret);
    for (const size of [16_383, 16_384, 16_385, 100_000]) {
      const parts = ["1.\u00e9", Buffer.alloc(size - 3, 7)];
      expect(key.digest(parts).toString("hex")).toBe(expected(algorithm, secret, parts));
    }
  });

  it("gives its digest as text in every encoding, for short and long messages", () => {
    const key = new HmacKey("sha256", Buffer.from("a key"));
    for (const parts of [["short"], ["1.", Buffer.alloc(20_000, 7)]]) {
      for (const encoding of ["hex", "base64", "base64url", "binary"] as const) {
        expect(key.digestText(parts, encoding)).toBe(key.digest(parts).toString(encoding));
      }
    }
  });

  it("keeps nothing of one message for the next, and each digest is bytes of its own", () => {
    const key = new HmacKey("sha256", Buffer.from("a key"));
    const first = key.digest(["a longer message"]);
    const copy = first.toString("hex");
    expect(key.digest(["b"]).toString("hex")).toBe(expected("sha256", Buffer.from("a key"), ["b"]));
    expect(first.toString("hex")).toBe(copy);
  });
});
