import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ManifestSource, type Manifests, type ParseOptions, parseManifests } from "../api/manifests.ts";

const IS_MANIFEST = /\.(ya?ml|json)$/;

/** A path that cannot be read, or a directory without manifests. */
export class ManifestPathError extends Error {
  readonly code = "ManifestPath";
  constructor(path: string, why: string, options?: ErrorOptions) {
    super(`-f ${path}: ${why}`, options);
    this.name = "ManifestPathError";
  }
}

/**
 * Reads and checks the manifests of files and directories (their `.yaml`, `.yml` and `.json` files in the order of their names, without
 * sub-directories, as `kubectl apply -f` does).
 *
 * @throws ManifestPathError
 */
export async function loadManifests(
  paths: readonly string[],
  options: Omit<ParseOptions, "previous"> & { readonly previous?: readonly string[] } = {},
): Promise<Manifests> {
  const { previous, ...rest } = options;
  const sources = await readSources(paths);
  return parseManifests(sources, previous === undefined ? rest : { ...rest, previous: await readSources(previous) });
}

async function readSources(paths: readonly string[]): Promise<ManifestSource[]> {
  const files = await Promise.all(paths.map(expand));
  return Promise.all(files.flat().map(async (file) => ({ file, text: await readFile(file, "utf8") })));
}

async function expand(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new ManifestPathError(path, "no such file or directory", { cause: error });
  });
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => IS_MANIFEST.test(name)).toSorted();
  if (names.length === 0) throw new ManifestPathError(path, "the directory holds no .yaml, .yml or .json file");
  return names.map((name) => join(path, name));
}
