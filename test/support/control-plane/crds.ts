import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import type { Cluster } from "./access.ts";
import type { KubeObject } from "./client.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDERS = { davit: ["crds"], all: ["crds", "test/support/crds"] } as const;
const ESTABLISHED_MS = 60_000;
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The CRDs of a folder of the repository, e.g. `crds`. */
export function readCrds(folder: string): KubeObject[] {
  const files = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".yaml"));
  return files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(ROOT, folder, name), "utf8")).map((document) => document.toJS() as KubeObject),
  );
}

/** Applies a CRD and waits until it is Established and its objects can be listed, which comes a little later. */
export async function installCrd(cluster: Cluster, crd: KubeObject): Promise<void> {
  const { name } = crd.metadata;
  await cluster.admin.apply(`${CRDS}/${name}`, crd);
  const { group, versions, names } = crd["spec"];
  const version = versions.find((each: { storage: boolean }) => each.storage).name;
  const isUsable = async () => {
    const { status } = await cluster.admin.get(`${CRDS}/${name}`);
    const conditions: { type: string; status: string }[] = status?.conditions ?? [];
    if (!conditions.some((each) => each.type === "Established" && each.status === "True")) return false;
    return (await cluster.admin.request("GET", `/apis/${group}/${version}/${names.plural}`)).status === 200;
  };
  for (const end = performance.now() + ESTABLISHED_MS; performance.now() < end; await sleep(25))
    if (await isUsable()) return;
  throw new Error(`CustomResourceDefinition ${name} did not become Established`);
}

/** Installs `crds/`, and with `all` those of other projects in `test/support/crds/` as well. */
export async function installCrds(cluster: Cluster, which: keyof typeof FOLDERS): Promise<void> {
  await Promise.all(FOLDERS[which].flatMap(readCrds).map((crd) => installCrd(cluster, crd)));
}
