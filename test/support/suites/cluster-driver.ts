import { pathOf } from "../chart.ts";
import type { OperatorRelease } from "../operator/operator-release.ts";
import { postEvent } from "../operator/senders.ts";
import type { Tenant } from "../operator/tenant.ts";
import { type Driver, HOST, type Manifest } from "./driver.ts";

/** A release on a real API server, used with `kubectl apply`. */
export class ClusterDriver implements Driver {
  readonly #release: OperatorRelease;
  readonly #tenants: readonly [mine: Tenant, theirs: Tenant];

  private constructor(release: OperatorRelease, tenants: readonly [mine: Tenant, theirs: Tenant]) {
    this.#release = release;
    this.#tenants = tenants;
  }

  /** With two new namespaces. */
  static async over(release: OperatorRelease): Promise<ClusterDriver> {
    return new ClusterDriver(release, await Promise.all([release.tenant(), release.tenant()]));
  }

  get instance(): string {
    return this.#release.instance;
  }

  get namespaces(): readonly [string, string] {
    return [this.#tenants[0].namespace, this.#tenants[1].namespace];
  }

  get receiver() {
    return this.#release.receiver;
  }

  async apply(manifest: Manifest): Promise<void> {
    await this.#release.cluster.admin.apply(pathOf(objectOf(manifest)), manifest);
  }

  async remove(kind: Manifest["kind"], namespace: string, name: string): Promise<void> {
    const apiVersion = kind === "Secret" ? "v1" : "davit.dev/v1alpha1";
    await this.#release.cluster.admin.delete(pathOf({ apiVersion, kind, metadata: { namespace, name } }));
  }

  post(path: string, key?: string) {
    return Promise.all(this.#release.gatewayUrls().map((url) => postEvent({ url, host: HOST, path, key })));
  }

  keys(namespace: string, name: string): Promise<readonly string[]> {
    return this.#tenant(namespace).keys(name);
  }

  async conflict(namespace: string, name: string): Promise<string> {
    const { conditions = [] } = await this.#tenant(namespace).status(name);
    return conditions.find(({ type, reason }) => type === "Accepted" && reason === "HostPathConflict")?.message ?? "";
  }

  #tenant(namespace: string): Tenant {
    const [mine, theirs] = this.#tenants;
    return namespace === mine.namespace ? mine : theirs;
  }
}

function objectOf({ apiVersion, kind, metadata: { namespace, name } }: Manifest) {
  return { apiVersion, kind, metadata: { namespace, name } };
}
