import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { generators } from "./generate.ts";
import { runGenerators } from "./generators/run.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "davit-generate-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

const sample = { output: "docs/a.md", source: "a.ts", generate: async () => "new\n" };

describe("runGenerators", () => {
  test("writes what is missing or stale, and nothing the second time", async () => {
    expect(await runGenerators([sample], root, false)).toEqual(["docs/a.md"]);
    expect(await readFile(join(root, "docs/a.md"), "utf8")).toBe("new\n");
    expect(await runGenerators([sample], root, false)).toEqual([]);
  });

  test("only names the stale ones when it checks", async () => {
    await runGenerators([sample], root, false);
    await writeFile(join(root, "docs/a.md"), "old\n");
    expect(await runGenerators([sample], root, true)).toEqual(["docs/a.md"]);
    expect(await readFile(join(root, "docs/a.md"), "utf8")).toBe("old\n");
  });
});

describe("the generated files", () => {
  test("are what their sources say", async () => {
    expect(await runGenerators(generators, fileURLToPath(new URL("..", import.meta.url)), true)).toEqual([]);
  });
});
