import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routeKey } from "../../src/api/names.ts";
import { newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import { becomes } from "../support/operator/polling.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";
import { RoleProcess } from "../support/roles/role-process.ts";

const cluster = sharedCluster();
const dir = mkdtempSync(join(tmpdir(), "davit-console-"));
const USABLE = { "davit.dev/use": "true" };

let release: ControllerRelease;
let store: RedisStore;
let running: RoleProcess;
let shop: string;
/** Base URLs of the listeners. */
let api: string;
let holders: string;

beforeAll(async () => {
  release = await ControllerRelease.create(cluster, {}, { console: { enabled: true } });
  [shop] = await Promise.all([cluster.namespace("shop"), release.start()]);
  await release.gateway("gateway-0", Number.MAX_SAFE_INTEGER);
  store = new RedisStore({ url: release.redis.url });
  await store.start();
  for (const [account, role] of Object.entries({ viewer: "viewer", operator: "operator", nobody: undefined })) {
    await user(account, role);
  }
  running = await (await startConsole()).ready();
  api = `${running.url}/v1/namespaces/${shop}`;
  holders = `http://127.0.0.1:${String(running.lines("console listens")[0]?.["destinationPort"])}/v1`;
});
afterAll(async () => {
  await running?.end("SIGKILL");
  store?.close();
  await release?.stop();
  rmSync(dir, { recursive: true, force: true });
});

function file(name: string, content: string): string {
  const path = join(dir, `${randomUUID()}-${name}`);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** Starts the console as a service account, by default the chart's. */
async function startConsole(account = release.roles.console): Promise<RoleProcess> {
  const { roles, instance, namespace } = release;
  const token = await cluster.tokenFor(account.namespace, account.serviceAccount);
  const config = {
    release: roles.release,
    instance,
    namespace,
    redis: { urlFile: file("redis", release.redis.url) },
    kubernetes: { server: cluster.url, tokenFile: file("token", token), caFile: cluster.caFile },
    console: { port: 0, destinationPort: 0, adminPort: 0, address: "127.0.0.1", shutdownDelayMs: 0 },
  };
  return new RoleProcess("console", file("davit.yaml", JSON.stringify(config))).listening();
}

/** A service account of the tenant, bound to one of the chart's roles for people. */
async function user(name: string, role: string | undefined): Promise<void> {
  const metadata = { name, namespace: shop };
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  await cluster.admin.apply(pathOf(account), account);
  if (role === undefined) return;
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `${release.roles.release}-${role}` },
    subjects: [{ kind: "ServiceAccount", name, namespace: shop }],
  };
  await cluster.admin.apply(pathOf(binding), binding);
}

/** A token as `kubectl create token NAME --audience …` makes one. */
async function tokenOf(name: string, audience = "davit"): Promise<string> {
  const { status } = await cluster.admin.create(`/api/v1/namespaces/${shop}/serviceaccounts/${name}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3_600, audiences: [audience] },
  });
  return status.token as string;
}

/** What the tests look at of answers. */
interface AnswerBody {
  readonly error?: string;
  readonly items?: readonly { readonly id: string }[];
  readonly routes?: readonly string[];
}

async function call(url: string, token: string, body?: object): Promise<{ status: number; body: AnswerBody }> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}` },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as AnswerBody };
}

const statusOf = async (url: string, token: string, body?: object) => (await call(url, token, body)).status;

/** Puts an event of a route into custody. @returns its id */
async function accept(route: string, destination: (key: string) => string): Promise<string> {
  const { metadata } = await cluster.admin.get(`/api/v1/namespaces/${shop}`);
  const key = routeKey(metadata.uid ?? "", route);
  const event = newEvent({
    policy: routePolicy({ route: key }),
    destinations: [{ destination: destination(key), limit: 1 }],
  });
  return (await store.inbox({ instance: release.instance, namespace: shop }).claim(event)).id;
}

describe("davit console with the chart's rights", () => {
  test("serves whoever the API server knows and RBAC lets, each as far as that goes", async () => {
    await release.route(shop, "orders");
    const id = await accept("orders", (key) => `${key}/own`);
    const [viewer, operator, nobody] = await Promise.all(["viewer", "operator", "nobody"].map((one) => tokenOf(one)));
    const events = `${api}/routes/orders/events`;
    await becomes(() => statusOf(events, viewer ?? ""), 200);
    expect((await call(events, viewer ?? "")).body.items).toMatchObject([{ id }]);
    expect(await statusOf(`${api}/dead-letters`, viewer ?? "")).toBe(200);
    expect(await statusOf(`${api}/destinations`, viewer ?? "")).toBe(200);
    const cancel = { filter: { route: "orders" } };
    expect(await statusOf(`${events}/${id}?include=body`, viewer ?? "")).toBe(403);
    expect(await statusOf(`${api}/copies/cancel`, viewer ?? "", cancel)).toBe(403);
    expect(await statusOf(`${events}/${id}?include=body`, operator ?? "")).toBe(200);
    expect(await statusOf(`${api}/copies/cancel`, operator ?? "", cancel)).toBe(200);
    for (const path of ["routes/orders/events", "dead-letters", "destinations"]) {
      expect(await call(`${api}/${path}`, nobody ?? "")).toMatchObject({ status: 403, body: { error: "NotAllowed" } });
    }
    expect(await statusOf(events, await tokenOf("viewer", "another-audience"))).toBe(401);
    expect(running.output).not.toContain(viewer);
  });

  test("follows routes and destinations that come and go", async () => {
    const token = await tokenOf("viewer");
    const ids = async () => (await call(`${api}/destinations`, token)).body.items?.map(({ id }) => id);
    await release.destination(shop, "comer", { id: "customer 1" });
    await becomes(ids, expect.arrayContaining(["customer 1"]));
    await release.deleteDestination(shop, "comer");
    await becomes(ids, []);
    await release.route(shop, "foreign", { instance: "another" });
    await release.route(shop, "refunds");
    await becomes(() => statusOf(`${api}/routes/refunds/events`, token), 200);
    expect(await statusOf(`${api}/routes/foreign/events`, token)).toBe(404);
    await release.deleteRoute(shop, "refunds");
    await becomes(() => statusOf(`${api}/routes/refunds/events`, token), 404);
  });

  test("opens a destination's own listener to the holder of its token, and nothing else to them", async () => {
    await release.secret(shop, "acme-access", { token: "a-token-of-acme-that-is-long" }, USABLE);
    await release.destination(shop, "acme", { access: { tokenSecretRef: { name: "acme-access", key: "token" } } });
    await release.route(shop, "by-name", { destinations: [{ name: "acme", destinationRef: { name: "acme" } }] });
    const token = "a-token-of-acme-that-is-long";
    await becomes(() => statusOf(`${holders}/destination`, token), 200);
    await becomes(async () => (await call(`${holders}/destination`, token)).body.routes, ["by-name"]);
    const own = await accept("by-name", () => "~acme");
    const other = await accept("by-name", () => "~another");
    expect((await call(`${holders}/deliveries`, token)).body.items).toMatchObject([{ id: own }]);
    expect(await statusOf(`${holders}/deliveries/${own}`, token)).toBe(200);
    expect(await statusOf(`${holders}/deliveries/${other}`, token)).toBe(404);
    expect(await statusOf(`${api}/destinations`, token)).toBe(401);
    expect(await statusOf(`${holders}/destination`, await tokenOf("operator"))).toBe(401);
    expect(running.output).not.toContain(token);
    await release.deleteDestination(shop, "acme");
    await becomes(() => statusOf(`${holders}/destination`, token), 401);
  });

  test("is not ready without its rights, says which it lacks, and lets nobody in", async () => {
    const another = await startConsole({ namespace: shop, serviceAccount: "nobody" });
    try {
      const problem = async () => (await another.readyz()).text;
      await becomes(problem, expect.stringContaining("webhookroutes in all namespaces: the API server refuses"));
      expect((await another.readyz()).status).toBe(503);
      expect(await call(`${another.url}/v1/namespaces/${shop}/destinations`, await tokenOf("operator"))).toMatchObject({
        status: 503,
        body: { error: "AccessUnknown" },
      });
      const port = String(another.lines("console listens")[0]?.["destinationPort"]);
      expect(await statusOf(`http://127.0.0.1:${port}/v1/destination`, "a-token-of-acme-that-is-long")).toBe(503);
    } finally {
      await another.end("SIGKILL");
    }
  });

  test("ends in order at SIGTERM", async () => {
    const another = await (await startConsole()).ready();
    expect(await another.metric("davit_redis_up")).toBe(1);
    expect(await another.end()).toBe(0);
  });
});
