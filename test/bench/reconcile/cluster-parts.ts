import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../support/control-plane/access.ts";
import { eachOf } from "./tenants.ts";

const LOOK_MS = 500;

/** What a cluster has beside a control plane: Pods of workers become Ready, and Ingresses get an address, until it is stopped. */
export class ClusterParts {
  readonly #cluster: Cluster;
  readonly #namespaces: ReadonlySet<string>;
  readonly #release: string;
  readonly #ready = new Set<string>();
  #isStopped = false;
  readonly #done: Promise<void>;

  /** @param namespaces of the tenants @param release namespace of the release */
  constructor(cluster: Cluster, namespaces: ReadonlySet<string>, release: string) {
    this.#cluster = cluster;
    this.#namespaces = namespaces;
    this.#release = release;
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    for (; !this.#isStopped; await sleep(LOOK_MS)) {
      await Promise.all([this.#pods(), this.#ingresses()]).catch(() => {});
    }
  }

  async #pods(): Promise<void> {
    const pods = await this.#cluster.admin.list("/api/v1/pods?fieldSelector=status.phase=Pending");
    const fresh = pods.filter(
      ({ metadata }) => this.#namespaces.has(metadata.namespace ?? "") && !this.#ready.has(metadata.uid ?? ""),
    );
    await eachOf(fresh, 8, async ({ metadata }) => {
      const now = new Date().toISOString();
      const conditions = [{ type: "Ready", status: "True", lastTransitionTime: now }];
      const status = { phase: "Running", startTime: now, conditions };
      await this.#cluster.admin.patch(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/status`, {
        status,
      });
      this.#ready.add(metadata.uid ?? "");
    });
  }

  async #ingresses(): Promise<void> {
    const path = `/apis/networking.k8s.io/v1/namespaces/${this.#release}/ingresses`;
    const ingresses = await this.#cluster.admin.list(path);
    for (const { metadata, status } of ingresses.filter((one) => one["status"]?.loadBalancer?.ingress === undefined)) {
      const loadBalancer = { ...status?.loadBalancer, ingress: [{ ip: "192.0.2.1" }] };
      await this.#cluster.admin.patch(`${path}/${metadata.name}/status`, { status: { loadBalancer } });
    }
  }
}
