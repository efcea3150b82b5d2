import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseManifests } from "../api/manifests.ts";

const ROOT = new URL("../../", import.meta.url);
const FILES = ["README.md", "examples/quickstart/README.md"];

const read = (file: string) => readFileSync(new URL(file, ROOT), "utf8");

describe("the READMEs", () => {
  it("show manifests that nothing refuses", () => {
    const blocks = FILES.flatMap((file) => [...read(file).matchAll(/```yaml\n(.*?)```/gs)]);
    expect(blocks.length).toBeGreaterThan(0);
    for (const [, text = ""] of blocks) {
      const { routes, problems } = parseManifests([{ file: "README.md", text }]);
      expect(problems).toEqual([]);
      expect(routes).toHaveLength(1);
    }
  });

  it("name commands that exist", () => {
    const names = FILES.flatMap((file) => [...read(file).matchAll(/davit -- ([a-z]+)/g)].map(([, name]) => name));
    expect(names).toContain("send");
    expect(names.filter((name) => !existsSync(new URL(`src/cli/${name}.ts`, ROOT)))).toEqual([]);
  });

  it("link to files that exist", () => {
    for (const file of FILES) {
      const links = [...read(file).matchAll(/\]\(([^)#]+)\)/g)].map(([, target = ""]) => target);
      expect(links.filter((target) => !existsSync(new URL(target, new URL(file, ROOT))))).toEqual([]);
    }
  });
});
