import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// The lint rules are contracts of the project, so each is shown to fire: scratch files that break one rule each
// are written into a copy of the configuration, linted in one run, and the reported rule ids are compared.

const ROOT = join(import.meta.dirname, "..");

/** Top first: a folder may import its own files and those of lower levels, never sideways or up. */
const LEVELS = [
  ["cli", "sdk"],
  ["controllers", "gateway", "delivery", "cleanup", "console"],
  ["routes", "custody", "runtime"],
  ["api"],
  ["verification", "kube", "egress", "config"],
  ["observability"],
  ["lib"],
];
const FOLDERS = LEVELS.flat();
const levelOf = (folder: string) => LEVELS.findIndex((level) => level.includes(folder));
const mayImport = (from: string, to: string) => from === to || levelOf(from) < levelOf(to);

const lines = (count: number) => Array.from({ length: count }, (_, at) => `console.log(${at});`).join("\n");
const branches = (count: number) =>
  Array.from({ length: count }, (_, at) => `if (n === ${at}) return ${at};`).join("\n");

/** file → [its text, the rule it must break]. */
const BROKEN: Record<string, readonly [text: string, rule: string]> = {
  "src/gateway/floating.ts": [
    "async function work(): Promise<void> {}\nexport function go(): void {\n  work();\n}\n",
    "typescript(no-floating-promises)",
  ],
  "src/gateway/misused.ts": [
    "export function go(items: number[]): void {\n  items.forEach(async (item) => {\n    await Promise.resolve(item);\n  });\n}\n",
    "typescript(no-misused-promises)",
  ],
  "src/gateway/any.ts": ["export const value: any = 1;\n", "typescript(no-explicit-any)"],
  "src/gateway/cycle-a.ts": [
    'import { b } from "./cycle-b.ts";\nexport const a = (): number => b();\n',
    "import(no-cycle)",
  ],
  "src/gateway/cycle-b.ts": [
    'import { a } from "./cycle-a.ts";\nexport const b = (): number => a();\n',
    "import(no-cycle)",
  ],
  "src/gateway/default.ts": ["export default 1;\n", "import(no-default-export)"],
  "src/gateway/prefix.ts": [
    'import { readFileSync } from "fs";\nreadFileSync("x");\n',
    "unicorn(prefer-node-protocol)",
  ],
  "src/gateway/long-file.ts": [lines(401), "eslint(max-lines)"],
  "src/gateway/long-function.ts": [`export function go(): void {\n${lines(61)}\n}\n`, "eslint(max-lines-per-function)"],
  "src/gateway/complex.ts": [
    `export function go(n: number): number {\n${branches(10)}\nreturn -1;\n}\n`,
    "eslint(complexity)",
  ],
  "src/gateway/params.ts": [
    "export const go = (a: number, b: number, c: number, d: number, e: number) => a + b + c + d + e;\n",
    "eslint(max-params)",
  ],
  "src/gateway/compare-import.ts": [
    'import { timingSafeEqual } from "node:crypto";\nexport const same = timingSafeEqual;\n',
    "eslint(no-restricted-imports)",
  ],
  "src/lib/compare-import.ts": [
    'import { timingSafeEqual } from "node:crypto";\nexport const same = timingSafeEqual;\n',
    "eslint(no-restricted-imports)",
  ],
  "tools/compare-import.ts": [
    'import { timingSafeEqual } from "node:crypto";\nexport const same = timingSafeEqual;\n',
    "eslint(no-restricted-imports)",
  ],
  "src/gateway/compare-namespace.ts": [
    'import * as crypto from "node:crypto";\nexport const same = crypto.timingSafeEqual;\n',
    "eslint(no-restricted-properties)",
  ],
  "src/gateway/compare-dynamic.ts": [
    'export async function load() {\n  const { timingSafeEqual } = await import("node:crypto");\n  return timingSafeEqual;\n}\n',
    "eslint(no-restricted-properties)",
  ],
  "src/main.ts": ['import { a } from "../test/support/a.ts";\nconsole.log(a);\n', "eslint(no-restricted-imports)"],
  "test/long.test.ts": [lines(801), "eslint(max-lines)"],
};

/** Files that must pass: what the limits still allow, and the one place of the constant-time comparison. */
const ALLOWED: Record<string, string> = {
  "src/lib/equals.ts":
    'import { timingSafeEqual } from "node:crypto";\nexport const equals = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b);\n',
  "src/gateway/full-file.ts": lines(400),
  "src/gateway/full-function.ts": `export function go(): void {\n${lines(58)}\n}\n`,
  "src/gateway/own/deep.ts": 'import { equals } from "../../lib/equals.ts";\nexport const deep = equals;\n',
  "test/any-import.test.ts": `import { deep } from "../src/gateway/own/deep.ts";\nimport type { Target } from "../src/delivery/target.ts";\nexport type T = Target;\nexport const d = deep;\n${lines(500)}`,
};

const importFile = (from: string, to: string) => `src/${from}/imports-${to}.ts`;

let diagnostics: { file: string; code: string }[] = [];
let work = "";

beforeAll(() => {
  work = mkdtempSync(join(tmpdir(), "davit-lint-"));
  for (const file of [".oxlintrc.json", "tsconfig.json", "package.json"])
    copyFileSync(join(ROOT, file), join(work, file));
  symlinkSync(join(ROOT, "node_modules"), join(work, "node_modules"));
  const files: Record<string, string> = { ...ALLOWED, "test/support/a.ts": "export const a = 1;\n" };
  for (const [file, [text]] of Object.entries(BROKEN)) files[file] = text;
  for (const from of FOLDERS) {
    files[`src/${from}/target.ts`] = `export type Target = "${from}";\n`;
    files[importFile(from, "tests")] = 'import { a } from "../../test/support/a.ts";\nconsole.log(a);\n';
    for (const to of FOLDERS) {
      files[importFile(from, to)] = `import type { Target } from "../${to}/target.ts";\nexport type T = Target;\n`;
    }
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, file)), { recursive: true });
    writeFileSync(join(work, file), text);
  }
  const oxlint = join(ROOT, "node_modules/oxlint/bin/oxlint");
  const run = spawnSync(process.execPath, [oxlint, "--type-aware", "-f", "json", "src", "test", "tools"], {
    cwd: work,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  const report = JSON.parse(run.stdout) as { diagnostics: { filename: string; code: string }[] };
  diagnostics = report.diagnostics.map(({ filename, code }) => ({
    file: filename.startsWith("/") ? relative(work, filename) : filename,
    code,
  }));
}, 60_000);

afterAll(() => rmSync(work, { recursive: true, force: true }));

const codesOf = (file: string) => [
  ...new Set(diagnostics.filter((found) => found.file === file).map(({ code }) => code)),
];

describe("each rule fires on the file that breaks it", () => {
  test.each(Object.entries(BROKEN).map(([file, [, rule]]) => [file, rule] as const))("%s: %s", (file, rule) => {
    expect(codesOf(file)).toContain(rule);
  });
});

describe("what the rules allow passes", () => {
  test.each(Object.keys(ALLOWED))("%s", (file) => {
    expect(codesOf(file)).toEqual([]);
  });
});

describe("imports go down only", () => {
  test.each(FOLDERS)("src/%s imports itself and lower levels, nothing beside or above it, and no test", (from) => {
    const refused = FOLDERS.filter((to) => codesOf(importFile(from, to)).includes("eslint(no-restricted-imports)"));
    expect(refused).toEqual(FOLDERS.filter((to) => !mayImport(from, to)));
    expect(codesOf(importFile(from, "tests"))).toContain("eslint(no-restricted-imports)");
  });
});
