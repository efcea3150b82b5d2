// Builds the package: plain tsc from src to dist, the data files that the sources read beside it, and the program's
// first line and mode. dist is at the same depth as src, so relative paths such as ../crds hold in both.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SHEBANG = "#!/usr/bin/env node\n";

/** Whether a file of src goes to dist as it is: data, and no TypeScript source. */
export const isData = (path: string): boolean => !path.endsWith(".ts");

/** Builds the project in `root` into `dist`, from nothing. Throws when the compiler reports an error. */
export function build(root: string, dist = join(root, "dist")): void {
  rmSync(dist, { recursive: true, force: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { status } = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", dist], {
    cwd: root,
    // Not to stdout: npm pack prints the name of the archive there.
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) throw new Error(`tsc -p tsconfig.build.json ended with exit code ${status}`);
  cpSync(join(root, "src"), dist, {
    recursive: true,
    filter: (source) => statSync(source).isDirectory() || isData(source),
  });
  const main = join(dist, "main.js");
  const text = readFileSync(main, "utf8");
  if (!text.startsWith("#!")) writeFileSync(main, SHEBANG + text);
  chmodSync(main, 0o755);
}

if (import.meta.main) build(join(import.meta.dirname, ".."));
