import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  WebhookDestinationSpec,
  WebhookDestinationStatus,
} from "../../../src/api/generated/webhook-destination.ts";
import type { WebhookRouteSpec, WebhookRouteStatus } from "../../../src/api/generated/webhook-route.ts";
import {
  COMPONENT_LABEL,
  destinationSecretName,
  destinationsNamespace,
  entrySecretName,
  INSTANCE_LABEL,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  SERVED_SEQ_ANNOTATION,
  servingLeaseName,
  workerName,
} from "../../../src/api/names.ts";
import {
  DESTINATION_PUBLICATION_KEY,
  type DestinationPublication,
} from "../../../src/routes/destination-publication.ts";
import type { DestinationEntry, RouteEntry } from "../../../src/routes/entry.ts";
import { PUBLICATION_KEY, type Publication } from "../../../src/routes/publication.ts";
import {
  decodeWorkerConfig,
  mergeDestinations,
  mergeWorkerConfigs,
  WORKER_CONFIG_KEY,
  type WorkerConfig,
} from "../../../src/routes/worker-config.ts";
import { type ChartRoles, chartRoles } from "../chart.ts";
import type { Cluster } from "../control-plane/access.ts";
import { type KubeObject, PATCH } from "../control-plane/client.ts";
import { startRedis, type TestRedis } from "../redis.ts";
import { RoleProcess } from "./role-process.ts";

type Section = Readonly<Record<string, unknown>>;

const ROUTES = "/apis/davit.dev/v1alpha1/namespaces";

/** A release on a real API server: the chart's namespaces and rights, and controllers as processes that have no others. */
export class ControllerRelease {
  readonly cluster: Cluster;
  readonly instance: string;
  /** The release's own namespace. */
  readonly namespace: string;
  readonly roles: ChartRoles;
  readonly redis: TestRedis;
  readonly #dir = mkdtempSync(join(tmpdir(), "davit-controller-"));
  readonly #processes: RoleProcess[] = [];
  readonly #settings: Section;

  private constructor(
    cluster: Cluster,
    parts: Pick<ControllerRelease, "instance" | "namespace" | "roles" | "redis">,
    settings: Section,
  ) {
    this.cluster = cluster;
    this.instance = parts.instance;
    this.namespace = parts.namespace;
    this.roles = parts.roles;
    this.redis = parts.redis;
    this.#settings = settings;
  }

  /** @param settings sections of the config file, over those that are needed */
  static async create(cluster: Cluster, settings: Section = {}, values: Section = {}): Promise<ControllerRelease> {
    const id = randomUUID().slice(0, 8);
    const namespace = await cluster.namespace("release");
    const instance = `i-${id}`;
    const [roles, redis] = await Promise.all([
      chartRoles(cluster, { release: `r-${id}`, namespace, values: { instance, ...values } }),
      startRedis(),
    ]);
    const release = new ControllerRelease(cluster, { instance, namespace, roles, redis }, settings);
    release.#file("token", await cluster.tokenFor(namespace, roles.controller.serviceAccount));
    release.#file("redis", redis.url);
    return release;
  }

  /** Starts a controller, `program` instead of that of the source tree. @returns once it listens */
  async start(settings: Section = {}, program = "controller"): Promise<RoleProcess> {
    const { controller, redis, ...rest } = { ...this.#settings, ...settings } as Record<string, Section>;
    const config = {
      release: this.roles.release,
      instance: this.instance,
      namespace: this.namespace,
      logLevel: "debug",
      redis: { urlFile: join(this.#dir, "redis"), users: "Provided", ...redis },
      kubernetes: { server: this.cluster.url, tokenFile: join(this.#dir, "token"), caFile: this.cluster.caFile },
      gateway: { hosts: [{ host: HOST, via: "None", allowHTTP: true }] },
      ...rest,
      controller: { adminPort: 0, address: "127.0.0.1", ...controller },
    };
    const running = new RoleProcess(program, this.#file(`${randomUUID()}.yaml`, JSON.stringify(config)));
    this.#processes.push(running);
    return running.listening();
  }

  /** What all controllers have written. */
  get output(): string {
    return this.#processes.map(({ output }) => output).join("\n---\n");
  }

  /**
   * Ends everything that was started, and takes the cluster-wide objects away.
   * @throws Error with its log when a controller had ended by itself
   */
  async stop(): Promise<void> {
    const dead = this.#processes.filter(({ child }) => child.exitCode !== null && child.exitCode !== 0);
    await Promise.all(this.#processes.map((process) => process.end("SIGKILL")));
    await this.roles.remove();
    await this.redis.stop();
    rmSync(this.#dir, { recursive: true, force: true });
    const [first] = dead;
    if (first === undefined) return;
    throw new Error(
      `a controller ended with ${first.child.exitCode} by itself; it wrote:\n${first.output.slice(-4_000)}`,
    );
  }

  /** Makes a Secret, or gives it other values. */
  async secret(
    namespace: string,
    name: string,
    values: Record<string, string>,
    labels: Record<string, string> = {},
  ): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const { status } = await this.cluster.admin.request("GET", `${path}/${name}`);
    if (status === 404) await this.cluster.admin.create(path, { metadata: { name, labels }, data });
    else
      await this.cluster.admin.request(
        "PATCH",
        `${path}/${name}`,
        [{ op: "replace", path: "/data", value: data }],
        PATCH.json,
      );
  }

  /** Makes a WebhookRoute, by default one that takes unsigned events. */
  route(namespace: string, name: string, spec: Partial<WebhookRouteSpec> = {}): Promise<KubeObject> {
    return this.cluster.admin.create(`${ROUTES}/${namespace}/webhookroutes`, {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookRoute",
      metadata: { name },
      spec: {
        instance: this.instance,
        exposure: { host: HOST, path: `/${namespace}/${name}` },
        verification: { none: {} },
        destinations: [{ name: "own", serviceRef: { name: "own", port: 8080 } }],
        ...spec,
      },
    });
  }

  /** Changes a WebhookRoute by a merge patch. */
  async patchRoute(namespace: string, name: string, patch: object): Promise<void> {
    const path = `${ROUTES}/${namespace}/webhookroutes/${name}`;
    const { status, body } = await this.cluster.admin.request("PATCH", path, patch, PATCH.merge);
    if (status !== 200) throw new Error(`patch of ${path}: ${status} ${JSON.stringify(body)}`);
  }

  /** Makes a WebhookDestination, by default one with an address that nobody answers at. */
  destination(
    namespace: string,
    name: string,
    spec: Partial<WebhookDestinationSpec> = {},
    labels: Record<string, string> = {},
  ): Promise<KubeObject> {
    return this.cluster.admin.create(this.#destinations(namespace), {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookDestination",
      metadata: { name, labels },
      spec: { instance: this.instance, url: "https://receiver.example.com/in", ...spec },
    });
  }

  /** Changes a WebhookDestination by a merge patch. */
  patchDestination(namespace: string, name: string, patch: object): Promise<KubeObject> {
    return this.cluster.admin.patch(this.#destinations(namespace, name), patch);
  }

  async deleteDestination(namespace: string, name: string): Promise<void> {
    await this.cluster.admin.delete(this.#destinations(namespace, name));
  }

  async destinationStatus(namespace: string, name: string): Promise<WebhookDestinationStatus> {
    const destination = await this.cluster.admin.get(this.#destinations(namespace, name));
    return (destination["status"] ?? {}) as WebhookDestinationStatus;
  }

  /** `status/reason` of a condition of a WebhookDestination; "" while it is not there. */
  async destinationCondition(namespace: string, name: string, type = "Ready"): Promise<string> {
    const { conditions = [] } = await this.destinationStatus(namespace, name);
    const found = conditions.find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status}/${found.reason}`;
  }

  /** What is published of a WebhookDestination. */
  async destinationPublication(namespace: string, name: string): Promise<DestinationPublication | undefined> {
    const secret = destinationSecretName(this.instance, namespace, name);
    const path = `/api/v1/namespaces/${destinationsNamespace(this.roles.release)}/secrets/${secret}`;
    const { status, body } = await this.cluster.admin.request("GET", path);
    if (status !== 200) return undefined;
    const json = Buffer.from(body["data"][DESTINATION_PUBLICATION_KEY], "base64").toString();
    return JSON.parse(json) as DestinationPublication;
  }

  /** WebhookDestinations as the shared workers of a namespace are told of them. */
  async workersDestinations(namespace: string): Promise<readonly DestinationEntry[]> {
    return mergeDestinations(await this.#workerConfigs(namespace));
  }

  /** Routes as the shared workers of a namespace are told of them. */
  async workersRoutes(namespace: string): Promise<readonly RouteEntry[]> {
    return mergeWorkerConfigs(await this.#workerConfigs(namespace));
  }

  async #workerConfigs(namespace: string): Promise<readonly WorkerConfig[]> {
    const worker = workerName(this.instance, { namespace });
    const secrets = await this.list(namespace, "v1/secrets");
    const parts = secrets.filter(({ metadata }) => metadata.name.startsWith(`${worker}-`));
    return parts.flatMap(({ data }) => {
      const reading = decodeWorkerConfig(Buffer.from(data[WORKER_CONFIG_KEY], "base64"));
      return reading.ok ? [reading.config] : [];
    });
  }

  #destinations(namespace: string, name?: string): string {
    const collection = `${ROUTES}/${namespace}/webhookdestinations`;
    return name === undefined ? collection : `${collection}/${name}`;
  }

  async deleteRoute(namespace: string, name: string): Promise<void> {
    await this.cluster.admin.request("DELETE", `${ROUTES}/${namespace}/webhookroutes/${name}`);
  }

  async status(namespace: string, name: string): Promise<WebhookRouteStatus> {
    const route = await this.cluster.admin.get(`${ROUTES}/${namespace}/webhookroutes/${name}`);
    return (route["status"] ?? {}) as WebhookRouteStatus;
  }

  /** `status/reason` of a condition; "" while it is not there. */
  async condition(namespace: string, name: string, type: string): Promise<string> {
    const { conditions = [] } = await this.status(namespace, name);
    const found = conditions.find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status}/${found.reason}`;
  }

  /** What is published of a route; `undefined` without an entry Secret. */
  async publication(namespace: string, name: string): Promise<Publication | undefined> {
    const secret = entrySecretName(this.instance, namespace, name);
    const path = `/api/v1/namespaces/${this.roles.routesNamespace}/secrets/${secret}`;
    const { status, body } = await this.cluster.admin.request("GET", path);
    if (status !== 200) return undefined;
    return JSON.parse(Buffer.from(body["data"][PUBLICATION_KEY], "base64").toString()) as Publication;
  }

  /** The published entry of a route. */
  async entry(namespace: string, name: string): Promise<RouteEntry | undefined> {
    const publication = await this.publication(namespace, name);
    return publication !== undefined && "entry" in publication ? publication.entry : undefined;
  }

  /** `state value` of each key of a route's ring. */
  async keys(namespace: string, name: string): Promise<string[]> {
    const entry = await this.entry(namespace, name);
    return (entry?.keys ?? []).map(({ state, value }) => `${state} ${Buffer.from(value, "base64").toString()}`);
  }

  /** A gateway Pod that is Ready and says on its Lease that it has served everything up to `seq`. */
  async gateway(name: string, seq: number): Promise<void> {
    const { admin } = this.cluster;
    const pods = `/api/v1/namespaces/${this.namespace}/pods`;
    if ((await admin.request("GET", `${pods}/${name}`)).status === 404) {
      const labels = { "app.kubernetes.io/component": "gateway", "app.kubernetes.io/instance": this.roles.release };
      await admin.create(pods, {
        metadata: { name, labels },
        spec: { containers: [{ name: "gateway", image: "gateway:1" }] },
      });
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      await admin.request("PATCH", `${pods}/${name}/status`, { status }, PATCH.merge);
    }
    const { metadata } = await admin.get(`${pods}/${name}`);
    const lease = servingLeaseName(name);
    await admin.apply(`/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases/${lease}`, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        name: lease,
        namespace: this.namespace,
        labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [INSTANCE_LABEL]: this.instance, [COMPONENT_LABEL]: "serving" },
        annotations: { [SERVED_SEQ_ANNOTATION]: String(seq) },
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid: metadata.uid ?? "" }],
      },
      spec: { holderIdentity: name, renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
  }

  /** Objects of a kind in a namespace, by the path of their collection: `apps/v1/deployments`, `v1/secrets`. */
  async list(namespace: string, kind: string): Promise<KubeObject[]> {
    const [plural = "", ...group] = kind.split("/").toReversed();
    const prefix = group.length > 1 ? "apis" : "api";
    const list = await this.cluster.admin.get(
      `/${prefix}/${group.toReversed().join("/")}/namespaces/${namespace}/${plural}`,
    );
    return list["items"];
  }

  #file(name: string, content: string): string {
    const path = join(this.#dir, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }
}

/** The host that every route of a release may have. */
export const HOST = "hooks.example.com";
