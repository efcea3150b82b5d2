import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChartRoles, chartRoles } from "../../support/chart.ts";
import type { Cluster } from "../../support/control-plane/access.ts";
import { startRedis, type TestRedis } from "../../support/redis.ts";
import { RoleProcess } from "../../support/roles/role-process.ts";
import { HOST } from "./tenants.ts";

const POD = "gateway-0";
const LOG_CHARS = 4_096;
/** Node sizes its heap by the memory limit of its container, which there is none here: these are the sizes for the chart's 512 Mi. */
const HEAP = "--max-old-space-size=256 --max-semi-space-size=1";

/** A release as the chart makes it: controller and gateway as processes with the rights of their service accounts, and Redis. */
export class BenchRelease {
  readonly cluster: Cluster;
  readonly instance: string;
  readonly namespace: string;
  readonly #roles: ChartRoles;
  readonly #redis: TestRedis;
  readonly #dir: string;
  readonly #running: RoleProcess[] = [];
  readonly #main: string | undefined;

  private constructor(
    cluster: Cluster,
    { namespace, roles, redis, main }: { namespace: string; roles: ChartRoles; redis: TestRedis; main?: string },
  ) {
    this.cluster = cluster;
    this.#main = main;
    this.namespace = namespace;
    // One name for all of it, as somebody would have who has two releases.
    this.instance = roles.release;
    this.#roles = roles;
    this.#redis = redis;
    this.#dir = mkdtempSync(join(tmpdir(), "davit-bench-"));
    process.once("exit", this.#abandon);
  }

  /** When the bench itself is ended; Redis ends by itself then. */
  readonly #abandon = (): void => {
    for (const { child } of this.#running) child.kill("SIGKILL");
    rmSync(this.#dir, { recursive: true, force: true });
  };

  /** @param main file of the built program; default: that of the sources */
  static async create(cluster: Cluster, main?: string): Promise<BenchRelease> {
    const namespace = await cluster.namespace("release");
    const roles = await chartRoles(cluster, { release: namespace, namespace, values: { instance: namespace } });
    return new BenchRelease(cluster, { namespace, roles, redis: await startRedis(), ...(main && { main }) });
  }

  /** Starts the controller. Resolves at once. */
  controller(): Promise<RoleProcess> {
    return this.#start("controller", {});
  }

  /** Starts a gateway that stands for a Pod, which is marked Ready when it is. */
  async gateway(): Promise<RoleProcess> {
    const { admin } = this.cluster;
    const pods = `/api/v1/namespaces/${this.namespace}/pods`;
    const labels = { "app.kubernetes.io/component": "gateway", "app.kubernetes.io/instance": this.#roles.release };
    const { metadata } = await admin.create(pods, {
      metadata: { name: POD, labels },
      spec: { containers: [{ name: "gateway", image: "davit:bench" }] },
    });
    const gateway = await this.#start("gateway", { podName: POD, podUid: metadata.uid });
    await gateway.ready();
    await admin.patch(`${pods}/${POD}/status`, { status: { conditions: [{ type: "Ready", status: "True" }] } });
    return gateway;
  }

  /** The last that each process has written. */
  logs(): string {
    return this.#running.map(({ output }) => output.slice(-LOG_CHARS)).join("\n");
  }

  async stop(): Promise<void> {
    for (const role of this.#running) await role.end("SIGTERM");
    await this.#roles.remove();
    await this.#redis.stop();
    rmSync(this.#dir, { recursive: true, force: true });
    process.off("exit", this.#abandon);
  }

  async #start(role: "controller" | "gateway", settings: object): Promise<RoleProcess> {
    const { serviceAccount } = this.#roles[role];
    const { url, caFile } = this.cluster;
    const token = this.#file(`${role}-token`, await this.cluster.tokenFor(this.namespace, serviceAccount));
    const config = {
      release: this.#roles.release,
      instance: this.instance,
      namespace: this.namespace,
      redis: { urlFile: this.#file("redis", this.#redis.url) },
      kubernetes: { server: url, tokenFile: token, caFile },
      controller: { adminPort: 0, address: "127.0.0.1" },
      gateway: {
        port: 0,
        adminPort: 0,
        address: "127.0.0.1",
        shutdownDelayMs: 0,
        hosts: [{ host: HOST, allowHTTP: true }],
        ...settings,
      },
    };
    const env = { NODE_ENV: "production", NODE_OPTIONS: `${HEAP} ${process.env["NODE_OPTIONS"] ?? ""}` };
    const running = new RoleProcess(role, this.#file(`${role}.yaml`, JSON.stringify(config)), env, this.#main);
    this.#running.push(running);
    return running;
  }

  #file(name: string, content: string): string {
    const path = join(this.#dir, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }
}
