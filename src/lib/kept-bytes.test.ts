import { expect, it } from "vitest";
import { keptBytes } from "./kept-bytes.ts";

it.each(["", "a", "secret", "ä€", "x".repeat(100_000)])("gives back what was encoded, of any length", (text) => {
  expect(keptBytes(text, "utf8").toString()).toBe(text);
  expect(keptBytes(Buffer.from(text).toString("base64"), "base64").toString()).toBe(text);
});

it("decodes base64 with blanks and line ends, as manifests have it", () => {
  expect(keptBytes("c2Vj\n  cmV0\n", "base64").toString()).toBe("secret");
});

it("keeps no more memory than the bytes take", () => {
  expect(keptBytes("c2VjcmV0", "base64").buffer.byteLength).toBe(6);
  expect(keptBytes("secret", "utf8").buffer.byteLength).toBe(6);
});
