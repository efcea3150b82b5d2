import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { findHelm, type HelmMajor } from "../../tools/helm/helm.ts";
import type { ClusterUser } from "./control-plane/access.ts";
import type { Cluster } from "./control-plane/access.ts";
import type { KubeObject } from "./control-plane/client.ts";

const run = promisify(execFile);

/** The chart's folder. */
export const CHART = join(import.meta.dirname, "../../charts/davit");

const say = (line: string) => process.stderr.write(`chart: ${line}\n`);

/** What is rendered. */
export interface Rendering {
  /** Name of the release; prefix of all it makes. */
  readonly release?: string;
  /** Namespace of the release. */
  readonly namespace?: string;
  readonly values?: object;
  readonly helm?: HelmMajor;
}

const DEFAULTS = { release: "davit", namespace: "davit-system", values: {}, helm: 4 } as const;

/** A refusal of Helm: its exit code was not 0. */
export class HelmError extends Error {
  readonly code = "Helm";
}

/** `helm template`: the text of all manifests. @throws HelmError with what Helm says */
export async function renderText(rendering: Rendering = {}): Promise<string> {
  const { release, namespace, values, helm } = { ...DEFAULTS, ...rendering };
  const args = ["template", release, CHART, "--namespace", namespace, "--kube-version", "1.34.0", "--values", "-"];
  const running = run(findHelm(helm, say).helm, args, { maxBuffer: 16 * 1_048_576 });
  running.child.stdin?.end(JSON.stringify(values));
  try {
    return (await running).stdout;
  } catch (error) {
    throw new HelmError((error as { stderr?: string }).stderr ?? String(error));
  }
}

/** Objects of {@link renderText}. */
export async function renderChart(rendering: Rendering = {}): Promise<KubeObject[]> {
  return parseAllDocuments(await renderText(rendering))
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** Kinds that lie in no namespace. */
const CLUSTER_SCOPED = new Set(["Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"]);

/** Path of an object on the API server. */
export function pathOf({ apiVersion = "v1", kind = "", metadata }: KubeObject): string {
  const plural = kind.toLowerCase().replace(/y$/, "ie").replace(/(ss)$/, "$1e");
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = CLUSTER_SCOPED.has(kind) ? "" : `/namespaces/${metadata.namespace}`;
  return `${group}${place}/${plural}s/${metadata.name}`;
}

/** The kinds that say who may do what, and where. */
const RIGHTS = ["Namespace", "ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"];

/** A release of the chart as far as rights go: its namespaces, service accounts and RBAC, and no Pods. */
export interface ChartRoles {
  readonly release: string;
  readonly namespace: string;
  /** `<release>-routes`, made by the chart. */
  readonly routesNamespace: string;
  /** `<release>-destinations`, made by the chart. */
  readonly destinationsNamespace: string;
  /** For `cluster.clientFor`, `kubeconfigFor` and `tokenFor`. */
  readonly controller: ServiceAccount;
  readonly gateway: ServiceAccount;
  /** There only with `console.enabled`. */
  readonly console: ServiceAccount;
  /** Takes the cluster-wide objects and the namespace of the routes away again; the release's namespace is the caller's. */
  remove(): Promise<void>;
}

type ServiceAccount = Extract<ClusterUser, { serviceAccount: string }>;

/**
 * Gives a control plane what the chart gives a cluster: a test that uses the service accounts has exactly the rights of the
 * chart's Pods. The release's name must be unique among the tests of a run.
 * @param rendering its namespace must exist, as must those of `rbac.namespaces`
 */
export async function chartRoles(
  cluster: Cluster,
  rendering: Rendering & { readonly release: string; readonly namespace: string },
): Promise<ChartRoles> {
  const { release, namespace } = rendering;
  const objects = (await renderChart(rendering)).filter(({ kind }) => RIGHTS.includes(kind ?? ""));
  for (const kind of RIGHTS) {
    for (const object of objects.filter((each) => each.kind === kind))
      await cluster.admin.apply(pathOf(object), object);
  }
  const account = (role: string) => ({ namespace, serviceAccount: `${release}-${role}` });
  const isShared = ({ kind = "" }: KubeObject) => CLUSTER_SCOPED.has(kind);
  return {
    release,
    namespace,
    routesNamespace: `${release}-routes`,
    destinationsNamespace: `${release}-destinations`,
    controller: account("controller"),
    gateway: account("gateway"),
    console: account("console"),
    remove: async () => {
      for (const object of objects.filter(isShared)) await cluster.admin.request("DELETE", pathOf(object));
    },
  };
}
