import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

// What must hold for the files of the repository themselves.
const ROOT = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "");

/** Names reserved for documentation (RFC 2606) may stand in an address, real ones may not. */
const RESERVED = /(^|[@.])(example\.(com|org|net)|example|test|invalid|localhost|local)$/i;

interface Unwanted {
  readonly what: string;
  readonly pattern: RegExp;
  readonly isFine?: (found: string) => boolean;
  /** In pieces, as this file is searched too. */
  readonly example: readonly string[];
}

const UNWANTED: readonly Unwanted[] = [
  {
    what: "the path of somebody's machine",
    pattern: /(?<![\w.-])\/(?:work|root|home\/\w+|Users\/\w+)\/[\w.-]+/g,
    example: ["see /", "home/", "somebody/davit"],
  },
  {
    what: "the host of a package registry",
    pattern: /registry\.(?:npmjs\.org|yarnpkg\.com|npmmirror\.com)/g,
    example: ["https://registry.", "npmjs.org/davit"],
  },
  {
    what: "an e-mail address",
    // Not the user part of a URL, which some providers sign.
    pattern: /(?<!:\/\/(?:[\w.+-]*:)?)(?<![\w.+-])[\w.+-]+@[a-z][\w-]*(?:\.[\w-]+)*\.[a-z]{2,}\b/gi,
    isFine: (found) => RESERVED.test(found),
    example: ["somebody", "@", "somewhere.com"],
  },
];

const findIn = (text: string, { pattern, isFine = () => false }: Unwanted) =>
  (text.match(pattern) ?? []).filter((match) => !isFine(match));

describe.each(UNWANTED)("no file holds $what", (unwanted) => {
  test("of those in the repository", () => {
    expect(files.flatMap((file) => findIn(textOf(file), unwanted).map((match) => `${file}: ${match}`))).toEqual([]);
  });
  test("and the search would find one", () => {
    expect(findIn(unwanted.example.join(""), unwanted)).toHaveLength(1);
    expect(
      findIn("path/work/x, a@example.com, user:secret@redis.example.com, https://user:pw@shop.io/a", unwanted),
    ).toEqual([]);
  });
});

/** Deleted files are still listed until the deletion is staged. */
function textOf(file: string): string {
  try {
    return read(file);
  } catch {
    return "";
  }
}

test("the lock file names no host to fetch from, so that any registry serves it", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Record<string, unknown>> };
  const entries = Object.entries(packages);
  expect(entries.length).toBeGreaterThan(50);
  expect(entries.filter(([, entry]) => "resolved" in entry).map(([path]) => path)).toEqual([]);
});

test("the lock file is complete: `npm ci` refuses one that lacks a package another one names, optional ones too", () => {
  type Entry = { dependencies?: object; optionalDependencies?: object };
  const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Entry> };
  const locked = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, "")));
  const named = Object.values(packages).flatMap((entry) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }),
  );
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((name) => !locked.has(name))).toEqual([]);
});

test("every dependency is exact and explained in docs/dependencies.md, and no other is", () => {
  type Versions = Record<string, string>;
  const manifest = JSON.parse(read("package.json")) as Record<string, Versions | undefined>;
  const dependencies = {
    ...manifest["dependencies"],
    ...manifest["devDependencies"],
    ...manifest["optionalDependencies"],
  };
  expect(Object.entries(dependencies).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  const explained = [...read("docs/dependencies.md").matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = ""]) => name);
  expect(new Set(explained)).toEqual(new Set(Object.keys(dependencies)));
});
