import { cleanupRunName } from "../../src/api/cleanup-run.ts";
import type { CleanupPolicySpec, CleanupPolicyStatus } from "../../src/api/generated/cleanup-policy.ts";
import type { CleanupRunSpec, CleanupRunStatus } from "../../src/api/generated/cleanup-run.ts";
import type { Cluster } from "./control-plane/access.ts";
import type { KubeObject } from "./control-plane/client.ts";

const DAVIT = "/apis/davit.dev/v1alpha1/namespaces";
/** Ten days, ms. */
const TEN_DAYS = 864_000_000;

/** CleanupPolicies and CleanupRuns of one namespace on a real API server, as people, workers and cleaners write them. */
export class CleanupPolicies {
  readonly namespace: string;
  readonly #cluster: Cluster;
  readonly #instance: string;

  constructor(cluster: Cluster, instance: string, namespace: string) {
    this.#cluster = cluster;
    this.#instance = instance;
    this.namespace = namespace;
  }

  /** Makes a policy: by default one that deletes without a dry run before, in one scope. */
  create(name: string, spec: Partial<CleanupPolicySpec> = {}): Promise<KubeObject> {
    return this.#cluster.admin.create(this.#policies(), {
      apiVersion: "davit.dev/v1alpha1",
      kind: "CleanupPolicy",
      metadata: { name },
      spec: {
        instance: this.#instance,
        s3: { bucket: "lake" },
        prefixTemplate: "warehouses/{scope}/",
        defaultMode: "Enforce",
        safety: { requireDryRun: false },
        ...spec,
      },
    });
  }

  patch(name: string, patch: object): Promise<KubeObject> {
    return this.#cluster.admin.patch(this.#policies(name), patch);
  }

  delete(name: string): Promise<unknown> {
    return this.#cluster.admin.delete(this.#policies(name));
  }

  async status(name: string): Promise<CleanupPolicyStatus> {
    return ((await this.#cluster.admin.get(this.#policies(name)))["status"] ?? {}) as CleanupPolicyStatus;
  }

  /** Writes some of a status, as a controller that ended since might have. */
  writeStatus(name: string, status: CleanupPolicyStatus): Promise<KubeObject> {
    return this.#cluster.admin.patch(`${this.#policies(name)}/status`, { status });
  }

  /** `status/reason` of a condition; "" while it is not there. */
  async condition(name: string, type = "Ready"): Promise<string> {
    const { conditions = [] } = await this.status(name);
    const found = conditions.find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status}/${found.reason}`;
  }

  /** Makes a run, as a worker does for a push. By default it takes what is older than ten days. */
  async push(policy: string, runId: string, spec: Partial<CleanupRunSpec> = {}): Promise<string> {
    const { metadata } = await this.#cluster.admin.get(this.#policies(policy));
    const name = cleanupRunName({ name: policy, uid: metadata.uid ?? "" }, runId);
    await this.#cluster.admin.create(this.#runs(), {
      apiVersion: "davit.dev/v1alpha1",
      kind: "CleanupRun",
      metadata: { name },
      spec: {
        instance: this.#instance,
        policyRef: { name: policy, uid: metadata.uid },
        runId,
        scope: "a",
        cutoff: new Date(Date.now() - TEN_DAYS).toISOString(),
        trigger: "Push",
        ...spec,
      },
    });
    return name;
  }

  async run(name: string): Promise<{ readonly spec: CleanupRunSpec; readonly status: CleanupRunStatus }> {
    const run = await this.#cluster.admin.get(this.#runs(name));
    return { spec: run["spec"] as CleanupRunSpec, status: (run["status"] ?? {}) as CleanupRunStatus };
  }

  /** `phase/reason` of a run; "" while it has none. */
  async phase(name: string): Promise<string> {
    const { phase, reason } = (await this.run(name)).status;
    return phase === undefined ? "" : `${phase}/${reason}`;
  }

  async runs(): Promise<readonly CleanupRunSpec[]> {
    const { items } = (await this.#cluster.admin.get(this.#runs())) as unknown as { items: { spec: CleanupRunSpec }[] };
    return items.map(({ spec }) => spec);
  }

  cancel(name: string): Promise<KubeObject> {
    return this.#cluster.admin.patch(this.#runs(name), { spec: { cancel: true } });
  }

  deleteRun(name: string): Promise<unknown> {
    return this.#cluster.admin.delete(this.#runs(name));
  }

  /** Writes some of a run's status, as a cleaner does. */
  async writeRun(name: string, status: CleanupRunStatus): Promise<number> {
    const answer = await this.#cluster.admin.request(
      "PATCH",
      `${this.#runs(name)}/status`,
      { status },
      "application/merge-patch+json",
    );
    return answer.status;
  }

  #policies(name?: string): string {
    return `${DAVIT}/${this.namespace}/cleanuppolicies${name === undefined ? "" : `/${name}`}`;
  }

  #runs(name?: string): string {
    return `${DAVIT}/${this.namespace}/cleanupruns${name === undefined ? "" : `/${name}`}`;
  }
}
