import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where the node and everything for it lies. One node at a time: it has fixed addresses. */
export interface NodePlace {
  /** Images and layers, used again by the next run. */
  readonly cache: string;
  /** What one run writes. */
  readonly run: string;
  /** Folder with etcd, kube-apiserver, … */
  readonly programs: string;
}

/** The place of this user's node. @param programs as `buildControlPlane` returns it */
export function nodePlace(programs: string): NodePlace {
  const cache = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "davit", "node");
  mkdirSync(join(cache, "run", "log"), { recursive: true });
  return { cache, run: join(cache, "run"), programs };
}

/** Kubeconfig of a cluster administrator, while the node runs. */
export const kubeconfigOf = ({ run }: NodePlace) => join(run, "admin.kubeconfig");

/**
 * Runs one of the scripts beside this file.
 *
 * @throws Error with the end of what the script printed
 */
export async function runScript(
  place: NodePlace,
  [script, ...args]: readonly [script: string, ...args: string[]],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const log = join(place.run, "log", `${script}.log`);
  const output = openSync(log, "w");
  const child = spawn(join(import.meta.dirname, script), args, {
    env: { ...process.env, KNODE_DIR: place.run, KNODE_CACHE: place.cache, KNODE_BIN: place.programs, ...env },
    stdio: ["ignore", output, output],
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => resolve(status ?? 1));
  }).finally(() => closeSync(output));
  if (code === 0) return;
  const end = readFileSync(log, "utf8").trim().split("\n").slice(-15).join("\n");
  throw new Error(`${script} ended with exit code ${code}; all it said is in ${log}, which ends with:\n${end}`);
}

/** Starts the node and loads images. One that an earlier run left behind is ended first. */
export async function nodeUp(place: NodePlace, images: readonly string[]): Promise<void> {
  if (existsSync(join(place.run, "node.pid"))) await nodeDown(place);
  await runScript(place, ["up.sh", ...images]);
}

/** Ends the node and what it left on the host. May be called twice. */
export function nodeDown(place: NodePlace): Promise<void> {
  return runScript(place, ["down.sh"]);
}
