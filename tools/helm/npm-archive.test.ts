import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkIntegrity } from "./npm-archive.ts";

describe("checkIntegrity", () => {
  const archive = Buffer.from("the archive");
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  const pinned = { name: "a", version: "1.0.0", integrity };

  it("takes what was pinned and nothing else", () => {
    expect(() => checkIntegrity(pinned, archive)).not.toThrow();
    expect(() => checkIntegrity(pinned, Buffer.from("another one"))).toThrow("a@1.0.0 is not what was pinned");
  });
});
