import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Generator } from "./generator.ts";

/**
 * Writes what the generators make below `root`; with `check`, writes nothing.
 *
 * @returns the paths whose committed text differs from what its source says (with `check`: still does)
 */
export async function runGenerators(generators: readonly Generator[], root: string, check: boolean): Promise<string[]> {
  const stale: string[] = [];
  for (const generator of generators) {
    const { output } = generator;
    const path = join(root, output);
    const text = await generator.generate();
    if ((await readFile(path, "utf8").catch(() => undefined)) === text) continue;
    stale.push(output);
    if (check) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return stale;
}
