import { createHmac, randomUUID } from "node:crypto";
import type { Cluster } from "../../support/control-plane/access.ts";

/** The one host of all routes. */
export const HOST = "hooks.example.com";

/** A route of the bench and the key that its senders sign with. */
export interface BenchRoute {
  readonly namespace: string;
  readonly name: string;
  readonly path: string;
  readonly secret: string;
  key: string;
}

/** What is made before anything of Davit runs. */
export interface TenantsOptions {
  readonly instance: string;
  readonly namespaces: number;
  readonly routes: number;
}

/** At most so many requests under way. */
export async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Makes namespaces, and in them routes with a Secret each, spread evenly. Names and keys are as long as real ones. */
export async function createTenants(cluster: Cluster, options: TenantsOptions): Promise<readonly BenchRoute[]> {
  const namespaces: string[] = [];
  await eachOf(Array.from({ length: options.namespaces }), 8, async () => {
    namespaces.push(await cluster.namespace("tenant"));
  });
  const routes = Array.from({ length: options.routes }, (_, at): BenchRoute => {
    const namespace = namespaces[at % namespaces.length] ?? "";
    const name = `orders-${String(at).padStart(4, "0")}`;
    return { namespace, name, path: `/${namespace}/${name}`, secret: `${name}-signing`, key: randomUUID() };
  });
  await eachOf(routes, 16, async (route) => {
    await cluster.admin.create(`/api/v1/namespaces/${route.namespace}/secrets`, {
      metadata: { name: route.secret },
      data: { secret: base64(route.key) },
    });
    await cluster.admin.create(
      `/apis/davit.dev/v1alpha1/namespaces/${route.namespace}/webhookroutes`,
      manifestOf(route, options.instance),
    );
  });
  return routes;
}

function manifestOf({ name, path, secret }: BenchRoute, instance: string): object {
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { name },
    spec: {
      instance,
      exposure: { host: HOST, path },
      verification: { provider: "queue-push" },
      secretRefs: [{ name: secret, key: "secret" }],
      destinations: [{ name: "orders", serviceRef: { name: "orders", port: 8080, path: "/webhooks" } }],
    },
  };
}

/** Gives a route's Secret a new key, as `kubectl edit` would. Resolves with the API server's answer. */
export async function rotate(cluster: Cluster, route: BenchRoute): Promise<void> {
  route.key = randomUUID();
  await cluster.admin.must("PUT", `/api/v1/namespaces/${route.namespace}/secrets/${route.secret}`, {
    metadata: { name: route.secret },
    data: { secret: base64(route.key) },
  });
}

/** Headers and body of an event that is signed with the route's present key. */
export function signedEvent({ key }: BenchRoute): { readonly headers: Record<string, string>; readonly body: string } {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const id = randomUUID();
  const body = JSON.stringify({ id, type: "order.paid" });
  const signature = createHmac("sha256", key).update(`${timestamp}.`).update(body).digest("hex");
  return {
    headers: {
      host: HOST,
      "content-type": "application/json",
      "x-delivery-id": id,
      "x-delivery-timestamp": timestamp,
      "x-delivery-signature": `sha256=${signature}`,
    },
    body,
  };
}
