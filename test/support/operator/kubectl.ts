import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findHelm } from "../../../tools/helm/helm.ts";
import type { Cluster } from "../control-plane/access.ts";

const run = promisify(execFile);

/** What kubectl said; `code` is its exit code. */
export interface KubectlAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl as the administrator of a plane. @param input for `-f -` */
export async function kubectl(cluster: Cluster, args: readonly string[], input = ""): Promise<KubectlAnswer> {
  const { kubectl: program } = findHelm(4, (line) => process.stderr.write(`kubectl: ${line}\n`));
  const running = run(program, ["--kubeconfig", cluster.adminKubeconfig, ...args], { maxBuffer: 16 * 1_048_576 });
  running.child.stdin?.end(input);
  try {
    return { code: 0, ...(await running) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    return { code: Number(code), stdout: stdout ?? "", stderr: stderr ?? String(error) };
  }
}
