import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findHelm } from "../../tools/helm/helm.ts";
import type { Cluster, ClusterUser } from "./control-plane/access.ts";

const run = promisify(execFile);

/** A table of `kubectl auth can-i --list`: one line a right, blanks squeezed. */
async function listRights(cluster: Cluster, who: ClusterUser, namespace: string): Promise<string[]> {
  const { kubectl } = findHelm(4, (line) => process.stderr.write(`chart: ${line}\n`));
  const kubeconfig = await cluster.kubeconfigFor(who);
  const { stdout } = await run(kubectl, ["--kubeconfig", kubeconfig, "-n", namespace, "auth", "can-i", "--list"]);
  return stdout
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.trim().replaceAll(/ {2,}/g, "  "));
}

/**
 * What a service account may do in a namespace beyond what every service account may, as `kubectl auth can-i --list` says it.
 * The default service account of that namespace is the measure.
 */
export async function rightsOf(cluster: Cluster, who: ClusterUser, namespace: string): Promise<string[]> {
  const [own, common] = await Promise.all([
    listRights(cluster, who, namespace),
    listRights(cluster, { namespace, serviceAccount: "default" }, namespace),
  ]);
  return own.filter((line) => !common.includes(line)).toSorted();
}
