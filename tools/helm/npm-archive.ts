import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npmCommand } from "../setup/packages.mjs";

/** A package by name, version and the integrity that npm's lock files record (Subresource Integrity, sha512). */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/**
 * Downloads a package's archive (or takes it from npm's cache) and hands it to `use` while it lies in a temporary folder.
 *
 * @param use gets the path of the .tgz
 * @throws Error that says what failed and what helps
 */
export function withPackageArchive<T>(pinned: PinnedPackage, use: (archive: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "davit-package-"));
  try {
    const [npm, leading] = npmCommand();
    const spec = `${pinned.name}@${pinned.version}`;
    const args = [...leading, "pack", spec, "--silent", "--prefer-offline", "--pack-destination", folder];
    const { status, stdout, stderr } = spawnSync(npm, args, { cwd: folder, encoding: "utf8" });
    if (status !== 0)
      throw new Error(`npm pack ${spec} failed: ${stderr.trim() || "no network and nothing in npm's cache"}`);
    const archive = join(folder, stdout.trim().split("\n").at(-1) ?? "");
    checkIntegrity(pinned, readFileSync(archive));
    return use(archive);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error when the bytes are not those that were pinned */
export function checkIntegrity({ name, version, integrity }: PinnedPackage, archive: Buffer): void {
  const found = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  if (found !== integrity) throw new Error(`${name}@${version} is not what was pinned: its integrity is ${found}`);
}

/** Unpacks an archive of npm into a folder, without its leading `package/`; with `only`, these paths alone. */
export function unpack(archive: string, folder: string, only: readonly string[] = []): void {
  const members = only.map((path) => `package/${path}`);
  const { status, stderr } = spawnSync("tar", ["-xzf", archive, "-C", folder, "--strip-components=1", ...members], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`tar cannot unpack ${archive}: ${stderr.trim()}`);
}
