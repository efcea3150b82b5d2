import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildControlPlane, controlPlaneFolder, isBuilt, missingGo } from "../../../tools/control-plane/build.mjs";

/** The programs of a control plane without nodes. */
export const PROGRAMS = ["etcd", "kube-apiserver", "kube-controller-manager"] as const;
export type ProgramName = (typeof PROGRAMS)[number];

/** Folder named by `KUBEBUILDER_ASSETS`, as envtest reads it. @throws Error when it lacks a program */
function assetsFolder(): string | undefined {
  const folder = process.env["KUBEBUILDER_ASSETS"];
  if (!folder) return undefined;
  const missing = PROGRAMS.filter((name) => !existsSync(join(folder, name)));
  if (missing.length === 0) return folder;
  throw new Error(
    `KUBEBUILDER_ASSETS=${folder} lacks ${missing.join(", ")} (setup-envtest ships no kube-controller-manager: add it there, or unset the variable)`,
  );
}

/**
 * What keeps the cluster tests from running on this machine. Starts nothing but `go env`.
 * @returns undefined when nothing does
 */
export function missingForCluster(): string | undefined {
  if (process.env["KUBEBUILDER_ASSETS"] || isBuilt(controlPlaneFolder())) return undefined;
  const go = missingGo();
  return go === undefined ? undefined : `neither KUBEBUILDER_ASSETS is set nor can the programs be built (${go})`;
}

/**
 * Folder with the programs: `KUBEBUILDER_ASSETS`, else the cache of this user, else built into it now.
 * @param say gets a line when a build starts, which takes minutes
 * @throws Error that says what is missing
 */
export async function findPrograms(say: (line: string) => void): Promise<string> {
  return assetsFolder() ?? (await buildControlPlane(say));
}
