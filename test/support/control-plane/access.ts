import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PROGRAMS, type ProgramName } from "./binaries.ts";
import { type Credentials, KubeClient } from "./client.ts";
import { issueClient, type Subject } from "./pki.ts";
import { tail } from "./program.ts";

const NAMESPACE_TIMEOUT_MS = 60_000;

/** Who a client is: a user of a certificate, or a service account with a token of its own. */
export type ClusterUser = Subject | { readonly namespace: string; readonly serviceAccount: string };

/** What another process needs to reach a plane; plain data. */
export interface ClusterLocation {
  readonly url: string;
  /** Folder with the servers' keys, kubeconfigs and logs. */
  readonly dir: string;
  /** Base URL of etcd, which serves `/metrics` and asks nobody who they are. */
  readonly etcdUrl: string;
}

/** Where the administrator's kubeconfig of a plane stands. */
export const adminKubeconfig = (dir: string) => join(dir, "admin.kubeconfig");

/** Content of a kubeconfig; JSON is YAML. */
export function kubeconfig(url: string, ca: string, credentials: Credentials, namespace = "default"): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const user =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": base64(credentials.certificate),
          "client-key-data": base64(credentials.key),
        };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "test", user }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
  });
}

/** A control plane as a test uses it, in whatever process it was started. */
export class Cluster {
  readonly url: string;
  readonly dir: string;
  readonly etcdUrl: string;
  /** Certificate of the CA that signed the API server's. */
  readonly caFile: string;
  /** The same as PEM text. */
  readonly ca: string;
  /** Kubeconfig file of a member of `system:masters`. */
  readonly adminKubeconfig: string;
  /** Requests as that member. */
  readonly admin: KubeClient;
  readonly #clients: KubeClient[] = [];

  constructor({ url, dir, etcdUrl }: ClusterLocation) {
    this.url = url;
    this.dir = dir;
    this.etcdUrl = etcdUrl;
    this.caFile = join(dir, "pki", "serving-ca.crt");
    this.adminKubeconfig = adminKubeconfig(dir);
    this.ca = readFileSync(this.caFile, "utf8");
    const read = (name: string) => readFileSync(join(dir, "pki", name), "utf8");
    this.admin = this.#client({ certificate: read("admin.crt"), key: read("admin.key") });
  }

  /**
   * Token of a service account (TokenRequest).
   * @param seconds how long it is valid; the server takes no less than 600
   */
  async tokenFor(namespace: string, serviceAccount: string, seconds = 3600): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const answer = await this.admin.create(path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: seconds },
    });
    return answer["status"].token;
  }

  /**
   * Writes a kubeconfig for a user or a service account; a user's certificate lasts a week.
   * @returns path of the file, which goes with the plane
   */
  async kubeconfigFor(who: ClusterUser): Promise<string> {
    const file = join(this.dir, `${randomUUID()}.kubeconfig`);
    const namespace = "serviceAccount" in who ? who.namespace : undefined;
    await writeFile(file, kubeconfig(this.url, this.ca, await this.#credentials(who), namespace), { mode: 0o600 });
    return file;
  }

  /** Requests as a user or a service account; `close` ends them. */
  async clientFor(who: ClusterUser): Promise<KubeClient> {
    return this.#client(await this.#credentials(who));
  }

  /**
   * Makes a namespace of a test's own and waits for its default service account, without which no pod can be made.
   * @returns its name: the prefix and something random
   */
  async namespace(prefix = "test", labels: Record<string, string> = {}): Promise<string> {
    const name = `${prefix}-${randomUUID().slice(0, 8)}`;
    await this.admin.create("/api/v1/namespaces", { metadata: { name, labels } });
    await this.#untilServiceAccount(name);
    return name;
  }

  /** Last 64 KiB of what a server has printed; of all of them, with headings, when none is named. */
  logs(program?: ProgramName): string {
    const of = (name: ProgramName, limit?: number) => tail(join(this.dir, `${name}.log`), limit);
    if (program !== undefined) return of(program);
    return PROGRAMS.map((name) => `--- ${name}\n${of(name, 8_192)}`).join("\n");
  }

  /** Closes the connections of all clients. */
  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #client(credentials: Credentials): KubeClient {
    const client = new KubeClient(this.url, this.ca, credentials);
    this.#clients.push(client);
    return client;
  }

  async #credentials(who: ClusterUser): Promise<Credentials> {
    if ("user" in who) return issueClient(join(this.dir, "pki"), who);
    return { token: await this.tokenFor(who.namespace, who.serviceAccount) };
  }

  async #untilServiceAccount(namespace: string): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    for (const end = performance.now() + NAMESPACE_TIMEOUT_MS; performance.now() < end; await sleep(25)) {
      const { status } = await this.admin.request("GET", path);
      if (status === 200) return;
    }
    throw new Error(
      `namespace ${namespace} got no default service account; kube-controller-manager's log:\n${this.logs("kube-controller-manager")}`,
    );
  }
}
