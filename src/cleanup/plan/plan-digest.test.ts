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
