import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readRedisUrl, readSecretFile, redisUrlOf } from "./secret-file.ts";

describe("a secret in a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "davit-secret-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const file = (content: string) => {
    const path = join(directory, "secret");
    writeFileSync(path, content);
    return path;
  };

  it("is its text without white space around it", () => {
    expect(readSecretFile("a.file", file("  value\n"))).toBe("value");
    expect(readRedisUrl(file("rediss://user:word@redis.example:6380/1\n"))).toBe(
      "rediss://user:word@redis.example:6380/1",
    );
  });

  it("is refused when it cannot be read or is empty, naming the key and the file", () => {
    const missing = join(directory, "missing");
    expect(() => readSecretFile("redis.urlFile", missing)).toThrow(`redis.urlFile: cannot read ${missing} (ENOENT)`);
    expect(() => readSecretFile("redis.urlFile", file(" \n"))).toThrow(/^redis\.urlFile: .* is empty/);
  });

  it.each(["redis.example:6379", "https://redis.example", "user:word"])(
    "is refused as a Redis URL without being repeated: %s",
    (text) => {
      expect(() => readRedisUrl(file(text))).toThrow(/holds no redis:\/\/ or rediss:\/\/ URL$/);
      expect(() => readRedisUrl(file(text))).not.toThrow(text);
    },
  );

  it("is read again when it is asked for, and is as it was while it cannot be read", () => {
    const path = file("redis://one:6379");
    const url = redisUrlOf(path);
    file("redis://two:6379");
    expect(url()).toBe("redis://two:6379");
    file("");
    expect(url()).toBe("redis://two:6379");
    rmSync(path);
    expect(url()).toBe("redis://two:6379");
    expect(() => redisUrlOf(path)).toThrow("ENOENT");
  });
});
