import type {
  WebhookDestinationSpec,
  WebhookDestinationStatus,
} from "../../../src/api/generated/webhook-destination.ts";
import type { WebhookRouteSpec, WebhookRouteStatus } from "../../../src/api/generated/webhook-route.ts";
import { entrySecretName, workerName } from "../../../src/api/names.ts";
import { PUBLICATION_KEY, type Publication } from "../../../src/routes/publication.ts";
import { type KubeClient, type KubeObject, PATCH } from "../control-plane/client.ts";
import type { OperatorRelease } from "./operator-release.ts";
import { type Posted, postEvent } from "./senders.ts";

/** The host of routes unless a test says otherwise. It is exposed by nothing of Davit's. */
export const HOST = "hooks.example.com";
/** A host that an Ingress exposes. */
export const INGRESS_HOST = "in.example.com";

/** Secret in each namespace with workers; of a name of its own, as two releases may have workers in one namespace. */
export const workersRedisSecret = (release: string) => `redis-of-${release}`;

/** The parts of a spec that make a route check signatures with the Secret `in`, key `key`. */
export const SIGNED = {
  verification: { hmac: { header: "X-Signature" } },
  secretRefs: [{ name: "in", key: "key" }],
};

/** A namespace with WebhookRoutes of a release, as those who work in it use it. */
export class Tenant {
  readonly release: OperatorRelease;
  readonly namespace: string;
  readonly #admin: KubeClient;

  constructor(release: OperatorRelease, namespace: string) {
    this.release = release;
    this.namespace = namespace;
    this.#admin = release.cluster.admin;
  }

  /** Makes a Secret, or gives it these values and no others. */
  async secret(name: string, values: Record<string, string>, labels: Record<string, string> = {}): Promise<void> {
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const path = `/api/v1/namespaces/${this.namespace}/secrets`;
    const replace = [{ op: "add", path: "/data", value: data }];
    const { status } = await this.#admin.request("PATCH", `${path}/${name}`, replace, PATCH.json);
    if (status === 404) await this.#admin.create(path, { metadata: { name, labels }, data });
    else if (status !== 200) throw new Error(`Secret ${name}: ${status}`);
  }

  /** The Secret that workers need to reach Redis. */
  redisSecret(): Promise<void> {
    return this.secret(workersRedisSecret(this.release.name), { url: this.release.redis.url });
  }

  async deleteSecret(name: string): Promise<void> {
    await this.#admin.delete(`/api/v1/namespaces/${this.namespace}/secrets/${name}`);
  }

  /**
   * Makes a WebhookRoute: by default one that takes unsigned events at `/<namespace>/<name>` and gives them to the release's receiver at the
   * same path.
   */
  route(name: string, spec: Partial<WebhookRouteSpec> = {}): Promise<KubeObject> {
    const path = `/${this.namespace}/${name}`;
    const url = `${this.release.receiver.url}${path}`;
    return this.#admin.create(this.#routes(), {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookRoute",
      metadata: { name },
      spec: {
        instance: this.release.instance,
        exposure: { host: HOST, path },
        verification: { none: {} },
        destinations: [{ name: "own", url, allowInsecureHTTP: true }],
        delivery: { concurrency: 32, retry: { schedule: Array.from({ length: 20 }, () => "500ms") } },
        ...spec,
      },
    });
  }

  /** Makes a WebhookDestination: by default the release's receiver at `/<namespace>/<name>`. */
  destination(
    name: string,
    spec: Partial<WebhookDestinationSpec> = {},
    labels: Record<string, string> = {},
  ): Promise<KubeObject> {
    const url = `${this.release.receiver.url}/${this.namespace}/${name}`;
    return this.#admin.create(`/apis/davit.dev/v1alpha1/namespaces/${this.namespace}/webhookdestinations`, {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookDestination",
      metadata: { name, labels },
      spec: { instance: this.release.instance, url, allowInsecureHTTP: true, ...spec },
    });
  }

  /** `status/reason` of a condition of a WebhookDestination; "" while it is not there. */
  async destinationCondition(name: string, type = "Ready"): Promise<string> {
    const path = `/apis/davit.dev/v1alpha1/namespaces/${this.namespace}/webhookdestinations/${name}`;
    const { conditions = [] } = ((await this.#admin.get(path))["status"] ?? {}) as WebhookDestinationStatus;
    const found = conditions.find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status}/${found.reason}`;
  }

  /** Changes a WebhookRoute by a merge patch. */
  patchRoute(name: string, patch: object): Promise<KubeObject> {
    return this.#admin.patch(this.#routes(name), patch);
  }

  async deleteRoute(name: string): Promise<void> {
    await this.#admin.delete(this.#routes(name));
  }

  get(name: string): Promise<KubeObject> {
    return this.#admin.get(this.#routes(name));
  }

  async status(name: string): Promise<WebhookRouteStatus> {
    return ((await this.get(name))["status"] ?? {}) as WebhookRouteStatus;
  }

  /** `status/reason` of a condition; "" while it is not there. */
  async condition(name: string, type = "Ready"): Promise<string> {
    const found = ((await this.status(name)).conditions ?? []).find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status}/${found.reason}`;
  }

  /** Message of a condition. */
  async message(name: string, type = "Ready"): Promise<string> {
    return ((await this.status(name)).conditions ?? []).find((condition) => condition.type === type)?.message ?? "";
  }

  /** What is published of a route; `undefined` without an entry Secret. */
  async publication(name: string): Promise<Publication | undefined> {
    const secret = entrySecretName(this.release.instance, this.namespace, name);
    const path = `/api/v1/namespaces/${this.release.routesNamespace}/secrets/${secret}`;
    const { status, body } = await this.#admin.request("GET", path);
    if (status !== 200) return undefined;
    return JSON.parse(Buffer.from(body["data"][PUBLICATION_KEY], "base64").toString()) as Publication;
  }

  /** `state value` of each key of a route's ring. */
  async keys(name: string): Promise<string[]> {
    const publication = await this.publication(name);
    const { keys = [] } = publication !== undefined && "entry" in publication ? publication.entry : {};
    return keys.map(({ state, value }) => `${state} ${Buffer.from(value, "base64").toString()}`);
  }

  /** Path of the Deployment of this namespace's shared workers, or of a route's own. */
  workers(route?: string): string {
    const scope = { namespace: this.namespace, ...(route === undefined ? {} : { route }) };
    return `/apis/apps/v1/namespaces/${this.namespace}/deployments/${workerName(this.release.instance, scope)}`;
  }

  /** Posts an event to a route's path, in turn to the gateways. @param key signs it */
  post(name: string, key?: string, path = `/${this.namespace}/${name}`): Promise<Posted> {
    return postEvent({ url: this.release.gatewayUrl(), host: HOST, path, key });
  }

  /** As {@link post}, unsigned and with these headers. */
  postWith(name: string, headers: Readonly<Record<string, string>>): Promise<Posted> {
    const path = `/${this.namespace}/${name}`;
    return postEvent({ url: this.release.gatewayUrl(), host: HOST, path, headers });
  }

  /** Posts an event to each gateway. @returns the different statuses */
  async postToAll(name: string, key?: string): Promise<number[]> {
    const path = `/${this.namespace}/${name}`;
    const urls = this.release.gatewayUrls();
    const answers = await Promise.all(urls.map((url) => postEvent({ url, host: HOST, path, key })));
    return [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);
  }

  /** Ids of the events that the receiver got of a route with the default destination, in order. */
  deliveredTo(name: string): string[] {
    const path = `/${this.namespace}/${name}`;
    return this.release.receiver.received.filter((one) => one.path === path).map(({ id }) => id);
  }

  #routes(name?: string): string {
    const collection = `/apis/davit.dev/v1alpha1/namespaces/${this.namespace}/webhookroutes`;
    return name === undefined ? collection : `${collection}/${name}`;
  }
}
