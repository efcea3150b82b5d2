import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { leaderLeaseName, workerName } from "../../../src/api/names.ts";
import { pathOf, renderChart } from "../chart.ts";
import type { Cluster } from "../control-plane/access.ts";
import type { KubeObject } from "../control-plane/client.ts";
import { FakeGatewayController } from "../fake-gateway-controller.ts";
import { type FakeKubelet, startFakeKubelet } from "../fake-kubelet.ts";
import { startRedis, type TestRedis } from "../redis.ts";
import { Receiver } from "../roles/receiver.ts";
import { type PodSurroundings, type RolePod, startRole, warmUp } from "./role-pod.ts";
import { HOST, INGRESS_HOST, Tenant, workersRedisSecret } from "./tenant.ts";

type Section = Readonly<Record<string, unknown>>;

export interface OperatorOptions {
  /** Values of the chart, section by section over those that are needed here. */
  readonly values?: Readonly<Record<string, Section>>;
  /** Default: one of its own. */
  readonly instance?: string;
  /** Image → script that stands for it. */
  readonly images?: PodSurroundings["images"];
  /** URL of the API server for a Pod's process, instead of the cluster's. */
  readonly serverFor?: PodSurroundings["serverFor"];
  /** Script to preload into a Pod's process. */
  readonly preloadFor?: PodSurroundings["preloadFor"];
  /** Redis with the users and passwords that the chart makes for its own, instead of one that lets everybody do everything. */
  readonly bundledRedis?: boolean;
  /** Whether an Ingress is admitted. Default: every one. */
  readonly admit?: (ingress: KubeObject) => boolean;
}

const READY_MS = 180_000;
/** In the order in which they must exist. Neither CRDs, which the plane has, nor the Redis of the chart, which the test starts. */
const KINDS = [
  "Namespace",
  "ServiceAccount",
  "ClusterRole",
  "Role",
  "ClusterRoleBinding",
  "RoleBinding",
  "Secret",
  "ConfigMap",
  "Service",
  "PodDisruptionBudget",
  "Deployment",
] as const;
const CLUSTER_SCOPED = ["Namespace", "ClusterRole", "ClusterRoleBinding"];

/**
 * A release of the chart on a real API server: controllers, gateways and workers are Pods of Deployments, their processes the real ones from the source
 * tree with the rights of the Pod's service account, on a Redis of its own.
 */
export class OperatorRelease {
  readonly cluster: Cluster;
  readonly name: string;
  readonly instance: string;
  /** The release's own namespace. */
  readonly namespace: string;
  readonly redis: TestRedis;
  /** Where routes deliver to by default. */
  readonly receiver: Receiver;
  readonly #kubelet: FakeKubelet;
  readonly #exposure: FakeGatewayController;
  readonly #namespaces: string[];
  readonly #objects: readonly KubeObject[];
  #turn = 0;

  private constructor(
    parts: Pick<OperatorRelease, "cluster" | "name" | "instance" | "namespace" | "redis" | "receiver"> & {
      readonly kubelet: FakeKubelet;
      readonly exposure: FakeGatewayController;
      readonly namespaces: string[];
      readonly objects: readonly KubeObject[];
    },
  ) {
    this.cluster = parts.cluster;
    this.name = parts.name;
    this.instance = parts.instance;
    this.namespace = parts.namespace;
    this.redis = parts.redis;
    this.receiver = parts.receiver;
    this.#kubelet = parts.kubelet;
    this.#exposure = parts.exposure;
    this.#namespaces = parts.namespaces;
    this.#objects = parts.objects;
  }

  /** Installs a release; resolves once all its Pods are ready and a controller leads. */
  static async install(cluster: Cluster, options: OperatorOptions = {}): Promise<OperatorRelease> {
    warmUp();
    const name = `r-${randomUUID().slice(0, 8)}`;
    const namespace = await cluster.namespace("release");
    const instance = options.instance ?? `i${name.slice(1)}`;
    const values = { ...valuesOf(name, options), instance };
    const rendered = await renderChart({ release: name, namespace, values });
    const objects = KINDS.flatMap((kind) => rendered.filter((object) => object.kind === kind));
    const [redis, receiver] = await Promise.all([startRedisFor(objects), new Receiver().start()]);
    await cluster.admin.create(`/api/v1/namespaces/${namespace}/secrets`, {
      metadata: { name: REDIS_SECRET },
      stringData: { url: redis.url },
    });
    for (const object of objects) await cluster.admin.apply(pathOf(object), object);
    const namespaces = [namespace];
    const kubelet = await startFakeKubelet(cluster, {
      namespaces,
      start: (start) =>
        startRole(start, {
          cluster,
          images: options.images ?? {},
          serverFor: options.serverFor,
          preloadFor: options.preloadFor,
          addresses: new Map([[`${name}-redis.${namespace}.svc:6379`, `127.0.0.1:${redis.port}`]]),
        }),
    });
    const exposure = new FakeGatewayController(cluster, {
      namespaces,
      ...(options.admit === undefined ? {} : { admit: options.admit }),
    });
    const release = new OperatorRelease({
      cluster,
      name,
      instance,
      namespace,
      redis,
      receiver,
      kubelet,
      exposure,
      namespaces,
      objects,
    });
    try {
      await release.#untilReady();
      return release;
    } catch (error) {
      await release.stop();
      throw error;
    }
  }

  /** Namespace that holds the published routes. */
  get routesNamespace(): string {
    return `${this.name}-routes`;
  }

  /** A new namespace with what workers need; its Pods are started as well. */
  async tenant(): Promise<Tenant> {
    return this.adopt(await this.cluster.namespace("shop"));
  }

  /** A namespace that exists gets what workers need, and its Pods are started. */
  async adopt(namespace: string): Promise<Tenant> {
    const tenant = this.bareTenant(namespace);
    await tenant.redisSecret();
    this.startPodsOf(namespace);
    return tenant;
  }

  /** A namespace that exists, as it is: without the Secret that workers need, and its Pods stay Pending. */
  bareTenant(namespace: string): Tenant {
    this.#namespaces.push(namespace);
    return new Tenant(this, namespace);
  }

  /** From now on the Pods of a namespace are started. */
  startPodsOf(namespace: string): void {
    this.#kubelet.keep(namespace);
  }

  /** The processes of a role that run, ready or not. @param namespace of the Pods; default the release's */
  pods(role: string, namespace = this.namespace): RolePod[] {
    return this.#running(role, namespace).map(({ process }) => process);
  }

  /** Base URLs of the gateways that a Service would send requests to. */
  gatewayUrls(): string[] {
    return this.#running("gateway", this.namespace).flatMap(({ isReady, process }) =>
      isReady && process.url !== undefined ? [process.url] : [],
    );
  }

  /** One of them, in turn. */
  gatewayUrl(): string {
    const urls = this.gatewayUrls();
    const url = urls[this.#turn++ % urls.length];
    if (url === undefined) throw new Error("no gateway is ready");
    return url;
  }

  /** The controller that leads, as the Lease says. */
  async leader(): Promise<RolePod | undefined> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases/${leaderLeaseName(this.instance)}`;
    const { status, body } = await this.cluster.admin.request("GET", path);
    const holder = status === 200 ? body["spec"].holderIdentity : undefined;
    return this.pods("controller").find(({ identity }) => identity !== undefined && holder === identity);
  }

  /** Sum of all series of a metric over the Pods of a role. @param label text that a series must have, e.g. `method="GET"` */
  async metric(role: string, name: string, label = ""): Promise<number> {
    const texts = await Promise.all(
      this.pods(role).map(async ({ adminUrl }) => (await fetch(`${adminUrl}/metrics`)).text()),
    );
    const lines = texts
      .flatMap((text) => text.split("\n"))
      .filter((line) => /^\w+/.exec(line)?.[0] === name && line.includes(label));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  /** Path of a Deployment of the chart. */
  deployment(role: "controller" | "gateway"): string {
    return `/apis/apps/v1/namespaces/${this.namespace}/deployments/${this.name}-${role}`;
  }

  /** Sets the number of Pods of a role, and waits until as many run and are ready. */
  async scale(role: "controller" | "gateway", replicas: number): Promise<void> {
    await this.cluster.admin.patch(this.deployment(role), { spec: { replicas } });
    await this.until(`${replicas} of ${role}`, async () => {
      const { status = {} } = await this.cluster.admin.get(this.deployment(role));
      return (
        (status.readyReplicas ?? 0) === replicas &&
        (status.replicas ?? 0) === replicas &&
        this.pods(role).length === replicas
      );
    });
  }

  /** Waits for something. @throws Error with the ends of the logs */
  async until(what: string, look: () => boolean | Promise<boolean>, timeoutMs = READY_MS): Promise<void> {
    for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(50)) if (await look()) return;
    throw new Error(`waited ${timeoutMs} ms for ${what}:\n${this.logs()}`);
  }

  /** The last that each Pod of the release and its tenants has written. */
  logs(): string {
    return this.#kubelet
      .pods()
      .map(({ pod, process }) => `--- ${pod.metadata.name}\n${(process as RolePod | undefined)?.log().slice(-2_000)}`)
      .join("\n");
  }

  /** Name of the shared workers of a namespace, and of what belongs to them. */
  workersOf(namespace: string): string {
    return workerName(this.instance, { namespace });
  }

  /** Ends every process and takes the cluster-wide objects away. */
  async stop(): Promise<void> {
    await Promise.all([this.#kubelet.stop(), this.#exposure.stop()]);
    const shared = this.#objects.filter(({ kind = "" }) => CLUSTER_SCOPED.includes(kind));
    await Promise.all(shared.map((object) => this.cluster.admin.request("DELETE", pathOf(object)).catch(() => {})));
    this.receiver.stop();
    await this.redis.stop();
  }

  #running(role: string, namespace: string) {
    return this.#kubelet.pods().flatMap(({ pod, process, isReady }) => {
      const running = process as RolePod | undefined;
      return running?.role === role && pod.metadata.namespace === namespace ? [{ process: running, isReady }] : [];
    });
  }

  async #untilReady(): Promise<void> {
    await this.until("the release to be ready", async () => {
      const deployments = await Promise.all(
        (["controller", "gateway"] as const).map((role) => this.cluster.admin.get(this.deployment(role))),
      );
      const areReady = deployments.every(({ spec, status }) => (status?.readyReplicas ?? 0) === spec.replicas);
      return areReady && (deployments[0]?.["spec"].replicas === 0 || (await this.leader()) !== undefined);
    });
  }
}

/** Secret in the release's namespace with the URL of Redis. */
const REDIS_SECRET = "test-redis";

/** A Redis; with the users of the chart's when the chart has one. */
async function startRedisFor(objects: readonly KubeObject[]): Promise<TestRedis> {
  const acl = objects.map((object) => object["stringData"]?.["users.acl"] as string | undefined).find(Boolean);
  if (acl === undefined) return startRedis();
  const dir = mkdtempSync(join(tmpdir(), "davit-acl-"));
  const file = join(dir, "users.acl");
  writeFileSync(file, acl, { mode: 0o600 });
  try {
    return await startRedis({ args: ["--aclfile", file] });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function valuesOf(release: string, { values = {}, bundledRedis = false }: OperatorOptions): Section {
  const redis = {
    external: { secretName: REDIS_SECRET },
    users: "Provided",
    providedSecretName: workersRedisSecret(release),
  };
  const needed: Readonly<Record<string, Section>> = {
    redis: bundledRedis ? {} : redis,
    controller: { replicas: 1, claimHoldMs: 12_000 },
    gateway: {
      replicas: 1,
      shutdownDelayMs: 500,
      hosts: [
        { host: HOST, via: "None", allowHTTP: true },
        { host: INGRESS_HOST, via: "Ingress", className: "nginx", tlsSecretName: "in-tls" },
      ],
    },
    // Where the receivers of tests are.
    workers: { egress: { allow: ["127.0.0.0/8"] } },
  };
  const sections = new Set([...Object.keys(needed), ...Object.keys(values)]);
  return {
    crds: { install: false },
    ...Object.fromEntries([...sections].map((name) => [name, { ...needed[name], ...values[name] }])),
  };
}
