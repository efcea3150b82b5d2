// npm runs this around `npm pack` and `npm publish`: before, it builds and takes out of package.json what only the
// repository needs; with --restore, after, it puts the original back. The pinned Node of the repository (node-linux-*)
// must not reach those who install the package: it would shadow their own.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.ts";

const REPOSITORY_ONLY = new Set(["scripts", "devDependencies", "overrides"]);

type Manifest = Record<string, unknown> & { optionalDependencies?: Record<string, string> };

/** The manifest as it is published: no scripts, no development dependencies and their overrides, no pinned Node. */
export function published(manifest: Manifest): Manifest {
  const { optionalDependencies = {}, ...rest } = manifest;
  const kept = Object.fromEntries(Object.entries(rest).filter(([field]) => !REPOSITORY_ONLY.has(field)));
  const optional = Object.entries(optionalDependencies).filter(([name]) => !name.startsWith("node-linux-"));
  return optional.length === 0 ? kept : { ...kept, optionalDependencies: Object.fromEntries(optional) };
}

const root = join(import.meta.dirname, "..");
const manifestFile = join(root, "package.json");
const original = join(root, "package.json.original");

function prepack(): void {
  build(root);
  // An original that is still there is from a run that was cut short: what stands in package.json is then stripped already.
  if (!existsSync(original)) writeFileSync(original, readFileSync(manifestFile));
  const manifest = JSON.parse(readFileSync(original, "utf8")) as Manifest;
  writeFileSync(manifestFile, `${JSON.stringify(published(manifest), null, 2)}\n`);
}

function restore(): void {
  if (existsSync(original)) renameSync(original, manifestFile);
}

if (import.meta.main) {
  if (process.argv.includes("--restore")) restore();
  else prepack();
}
