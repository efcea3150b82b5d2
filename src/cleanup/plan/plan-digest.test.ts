import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { extendDigest } from "./plan-digest.ts";

const versions = fc.array(fc.record({ key: fc.string(), versionId: fc.string({ unit: "grapheme-ascii" }) }), {
  maxLength: 5,
});

test("the digest of a list is the same however it is cut, and another one for another list", () => {
  fc.assert(
    fc.property(versions, versions, (a, b) => {
      expect(extendDigest(extendDigest("", a), b)).toBe(extendDigest("", [...a, ...b]));
      const isSame = JSON.stringify(a) === JSON.stringify(b);
      expect(extendDigest("", a) === extendDigest("", b)).toBe(isSame);
    }),
  );
  expect(extendDigest("", [])).toBe("");
});

test("the digest is of every version before, of each key and version apart", () => {
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const first = sha256("\np/a\0v1");
  expect(extendDigest("", [{ key: "p/a", versionId: "v1" }])).toBe(first);
  expect(extendDigest(first, [{ key: "p/b", versionId: "v2" }])).toBe(sha256(`${first}\np/b\0v2`));
  expect(extendDigest("", [{ key: "p/av", versionId: "1" }])).not.toBe(first);
});
