import { describe, expect, it } from "vitest";
import { ManifestError, manifestKeys } from "./manifest-keys.ts";

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

describe("manifestKeys", () => {
  it("reads a key a line", () => {
    expect(manifestKeys(Buffer.from("a/1\r\n\na/ 2\na/ü"), "lines")).toEqual(["a/1", "a/ 2", "a/ü"]);
  });

  it.each<[string, unknown, readonly string[]]>([
    ["json:/keys", { keys: ["a", "b"] }, ["a", "b"]],
    ["json:/keys", { keys: [] }, []],
    ["json:/key", { key: "a" }, ["a"]],
    ["json:/files/*/path", { files: [{ path: "a" }, { path: "b" }] }, ["a", "b"]],
    ["json:/*/files/*", [{ files: ["a"] }, { files: ["b", "c"] }], ["a", "b", "c"]],
    ["json:/files/1", { files: ["a", "b"] }, ["b"]],
    ["json:/a~1b", { "a/b": "k" }, ["k"]],
    ["json:/*", { "*": "k" }, ["k"]],
  ])("reads %s", (from, value, keys) => {
    expect(manifestKeys(json(value), from)).toEqual(keys);
  });

  it.each<[string, Buffer]>([
    ["json:/keys", json({ other: [] })],
    ["json:/keys", json({ keys: [1] })],
    ["json:/keys", json({ keys: null })],
    ["json:/files/*/path", json({ files: [{ path: "a" }, {}] })],
    ["json:/constructor", json({})],
    ["json:/keys", Buffer.from("{")],
    ["lines", Buffer.from([0x61, 0xff])],
  ])("refuses a manifest without text at %s rather than take it for an empty one", (from, body) => {
    expect(() => manifestKeys(body, from)).toThrow(ManifestError);
  });

  it("refuses addresses and paths, which would protect no key, and takes keys that look like them", () => {
    for (const address of [
      "s3://b/p/k",
      "S3A://b/p/k",
      "https://store.example/b/p/k",
      "abfs+x://a@b/k",
      "/p/k",
      "//k",
    ]) {
      expect(() => manifestKeys(Buffer.from(`p/k\n${address}`), "lines")).toThrow("addresses");
      expect(() => manifestKeys(json([address]), "json:/*")).toThrow(ManifestError);
    }
    const keys = ["p/s3://b/k", "s3:/k", "1s://k", "a b://k"];
    expect(manifestKeys(json(keys), "json:/*")).toEqual(keys);
  });

  it("refuses a manifest of more than a million keys", () => {
    expect(manifestKeys(Buffer.from("a\n".repeat(1_000_000)), "lines")).toHaveLength(1_000_000);
    expect(() => manifestKeys(Buffer.from("a\n".repeat(1_000_001)), "lines")).toThrow(ManifestError);
  });
});
