import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const POLL_MS = 200;

/**
 * Calls back when a file of the paths (or of a directory among them) was written, made or removed, once nothing has changed any more for a moment:
 * a file is empty while it is being saved. Looks instead of listening: it misses nothing whatever an editor does, on every kind of mount.
 *
 * @returns stops it
 */
export function watchPaths(paths: readonly string[], onChange: () => void): () => void {
  let told = fingerprint(paths);
  let last = told;
  const timer = setInterval(() => {
    const now = fingerprint(paths);
    const isSettled = now === last;
    last = now;
    if (!isSettled || now === told) return;
    told = now;
    onChange();
  }, POLL_MS);
  return () => clearInterval(timer);
}

function fingerprint(paths: readonly string[]): string {
  return paths
    .flatMap((path) => [path, ...children(path)])
    .map(describe)
    .join("\n");
}

function children(path: string): string[] {
  try {
    return readdirSync(path).map((name) => join(path, name));
  } catch {
    return [];
  }
}

function describe(path: string): string {
  try {
    const { ino, size, ctimeMs, mtimeMs } = statSync(path);
    return `${path} ${ino} ${size} ${ctimeMs} ${mtimeMs}`;
  } catch {
    return `${path} -`;
  }
}
