import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TableCache } from "./table-cache.ts";

describe("TableCache", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "davit-table-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it("gives back what was written, in a file that only this user may read", async () => {
    const publications = new Map([
      ["davit-route-1", "YQ=="],
      ["davit-route-2", "Yg=="],
    ]);
    const inner = join(directory, "made");
    await new TableCache(inner, "default").write(publications);
    expect(await new TableCache(inner, "default").read()).toEqual(publications);
    expect(statSync(join(inner, "routes.cache")).mode & 0o777).toBe(0o600);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
  });

  it("knows an empty table from none", async () => {
    const cache = new TableCache(directory, "default");
    expect(await cache.read()).toBeUndefined();
    await cache.write([]);
    expect(await cache.read()).toEqual(new Map());
  });

  it("does not take the table of another instance or of another format", async () => {
    await new TableCache(directory, "blue").write([["a", "YQ=="]]);
    expect(await new TableCache(directory, "default").read()).toBeUndefined();
    writeFileSync(join(directory, "routes.cache"), "davit-routes-2 default\na YQ==");
    expect(await new TableCache(directory, "default").read()).toBeUndefined();
  });

  it("leaves the last table where it was when a new one cannot be written", async () => {
    const cache = new TableCache(directory, "default");
    await cache.write([["a", "YQ=="]]);
    writeFileSync(join(directory, "routes.cache.new"), "in the way");
    chmodSync(join(directory, "routes.cache.new"), 0o600);
    await cache.write([["b", "Yg=="]]);
    expect(await cache.read()).toEqual(new Map([["b", "Yg=="]]));
    const unwritable = new TableCache(join(directory, "routes.cache"), "default");
    await expect(unwritable.write([])).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await cache.read()).toEqual(new Map([["b", "Yg=="]]));
  });
});
