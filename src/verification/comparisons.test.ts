import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

// No lint rule knows which Buffer is a secret, so the sources themselves are looked at: where requests are judged, what is secret or signed is compared
// by lib/equals.ts alone, or by Secret.equals, which uses it.

const ROOT = join(import.meta.dirname, "..");
const FOLDERS = ["verification", "gateway"];

/** Compare bodies, to explain a refusal to an operator. */
const OF_BODIES = ["verification/explain/bodies.ts", "verification/explain/variants.ts"];

const NAMES = "[\\w.]*(?:digest|signature|mac|token|secret|password|credential)s?";
const PATTERNS = {
  "equals of a Buffer": /(?<!\b(?:secret|material)|this\.#token)\.equals\(/,
  "compare of a Buffer": /\.compare\(/,
  "=== of a secret": new RegExp(`\\b${NAMES} [=!]== (?!undefined|null|["'\`]|\\d)`, "i"),
  "=== with a secret": new RegExp(`(?<!\\d|["'\`]|undefined|null) [=!]== ${NAMES}\\b(?![.(\\[])`, "i"),
};

function violations(text: string): string[] {
  return Object.entries(PATTERNS).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}

function sources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
      .map((file) => join(folder, file)),
  );
}

describe("what is secret or signed", () => {
  it("is compared by equals and by nothing else", () => {
    const files = sources().filter((file) => !OF_BODIES.includes(file));
    const found = files.flatMap((file) =>
      readFileSync(join(ROOT, file), "utf8")
        .split("\n")
        .flatMap((line, at) => violations(line).map((what) => `${file}:${at + 1}: ${what}`)),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(found).toEqual([]);
  });

  it.each([
    "if (digest.equals(sent)) return true;",
    "return Buffer.compare(a, b) === 0;",
    "if (signature === expected) return true;",
    "return sent !== key.secret;",
  ])("would be found in: %s", (line) => {
    expect(violations(line)).not.toEqual([]);
  });

  it.each([
    "if (signature === undefined) return undefined;",
    'return token !== "";',
    "keys.find(({ secret }) => secret.equals(sent))",
    "if (signatures.length === 0) return NONE;",
  ])("is not suspected in: %s", (line) => {
    expect(violations(line)).toEqual([]);
  });
});
