import { randomUUID, sign } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { AccessReviews } from "../../src/kube/access-review.ts";
import { inClusterAuth } from "../../src/kube/in-cluster.ts";
import { type Call, KubeTransport } from "../../src/kube/transport.ts";
import { ManualTimers } from "../../src/lib/testing.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { ENTRY_SECRET_TYPE, entrySecretName } from "../../src/api/names.ts";
import { configSchema } from "../../src/config/schema.ts";
import { PUBLICATION_KEY, published } from "../../src/routes/publication.ts";
import { chartRoles, type ChartRoles, pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import { ApiProxy } from "../support/operator/api-proxy.ts";
import { publish } from "../support/publishing.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { RoleProcess } from "../support/roles/role-process.ts";
import { openRoute } from "../support/roles/routes.ts";

const cluster = sharedCluster();
const RBAC = "rbac.authorization.k8s.io";
const REVIEWS = /\/(tokenreviews|subjectaccessreviews)$/;

const release = `r-${randomUUID().slice(0, 8)}`;
const dir = mkdtempSync(join(tmpdir(), "davit-publish-"));
const cleanUps: (() => unknown)[] = [];
let roles: ChartRoles;
let tenant: string;

beforeAll(async () => {
  tenant = await cluster.namespace("tenant");
  roles = await chartRoles(cluster, { release, namespace: await cluster.namespace("release"), values: {} });
  for (const name of ["publisher", "other", "none"]) {
    await cluster.admin.apply(`/api/v1/namespaces/${tenant}/serviceaccounts/${name}`, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name, namespace: tenant },
    });
  }
  await allow("publisher", ["digest"]);
  await allow("other", ["another-route"]);
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});
afterAll(async () => {
  await roles.remove();
  rmSync(dir, { recursive: true, force: true });
});

/** Lets a service account of the tenant publish into these routes, as the example of the weekly digest does. */
async function allow(name: string, resourceNames: readonly string[]): Promise<void> {
  const metadata = { name, namespace: tenant };
  const objects = [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata,
      rules: [{ apiGroups: ["davit.dev"], resources: ["webhookroutes/events"], resourceNames, verbs: ["create"] }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: tenant }],
    },
  ];
  for (const object of objects) await cluster.admin.apply(pathOf(object), object);
}

/** A token as a Pod gets one from a projected volume. */
async function tokenOf(name: string, audiences: readonly string[] = ["davit"]): Promise<string> {
  const { status } = await cluster.admin.create(`/api/v1/namespaces/${tenant}/serviceaccounts/${name}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3_600, audiences },
  });
  return status.token as string;
}

/** The token with other claims, signed by the key of the cluster: one that was good an hour ago, for example. */
function resigned(token: string, changes: object): string {
  const [header = "", payload = ""] = token.split(".");
  const claims = { ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object), ...changes };
  const content = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  const key = readFileSync(join(cluster.dir, "pki", "sa-signer.key"));
  const { alg } = JSON.parse(Buffer.from(header, "base64url").toString()) as { alg: string };
  const options = alg.startsWith("ES") ? { key, dsaEncoding: "ieee-p1363" as const } : key;
  return `${content}.${sign("sha256", Buffer.from(content), options).toString("base64url")}`;
}

function file(name: string, content: string): string {
  const path = join(dir, `${randomUUID()}-${name}`);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

/** The service account of the gateway, through a proxy that can be told to answer nothing. */
async function gatewayCredentials(proxy?: ApiProxy) {
  const token = await cluster.tokenFor(roles.gateway.namespace, roles.gateway.serviceAccount);
  return { server: proxy?.url ?? cluster.url, tokenFile: file("token", token), caFile: cluster.caFile };
}

describe("a gateway of the chart, asked to publish", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  /** Publishes the route `digest`, starts a gateway with an API listener, and returns its URL. */
  const start = async (proxy?: ApiProxy) => {
    const entry = openRoute("digest", 10, "http://127.0.0.1:9/", { namespace: tenant });
    const name = entrySecretName("default", tenant, "digest");
    const { routesNamespace: namespace } = roles;
    await cluster.admin.apply(`/api/v1/namespaces/${namespace}/secrets/${name}`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace, labels: { "davit.dev/instance": "default" } },
      type: ENTRY_SECRET_TYPE,
      data: { [PUBLICATION_KEY]: Buffer.from(JSON.stringify(published(entry))).toString("base64") },
    });
    const config = configSchema.parse({
      release,
      namespace: roles.namespace,
      redis: { urlFile: file("redis-url", redis.url) },
      kubernetes: await gatewayCredentials(proxy),
      gateway: { port: 0, adminPort: 0, api: { port: 0 }, address: "127.0.0.1", shutdownDelayMs: 0 },
    });
    const gateway = new RoleProcess("gateway", file("davit.yaml", JSON.stringify(config)));
    cleanUps.push(() => gateway.end());
    await gateway.ready();
    const api = `http://127.0.0.1:${String(gateway.lines("gateway listens")[0]?.["apiPort"])}`;
    const events = (token: string, route = "digest") =>
      publish({ url: api }, [{ id: "e-1", type: "digest", data: 1 }], {
        path: `/v1/namespaces/${tenant}/routes/${route}/events`,
        token,
      });
    return { gateway, events };
  };

  test("lets in whose Role allows it for this route, and nobody else", async () => {
    const { gateway, events } = await start();
    const token = await tokenOf("publisher");
    expect(await events(token)).toMatchObject({ status: 200, body: { accepted: 1 } });
    expect(await events(await tokenOf("publisher"))).toMatchObject({ status: 200, body: { duplicates: 1 } });
    expect(await events(await tokenOf("other"))).toMatchObject({ status: 403, body: { error: "NotAllowed" } });
    expect(await events(await tokenOf("none"))).toMatchObject({ status: 403, body: { error: "NotAllowed" } });
    expect(await events(token, "another-route")).toMatchObject({ status: 403 });
    expect(await events(await tokenOf("other"), "another-route")).toMatchObject({
      status: 404,
      body: { error: "NoSuchRoute" },
    });
    const refused = { status: 401, body: { error: "TokenRefused" } };
    expect(await events(await tokenOf("publisher", ["somebody-else"]))).toMatchObject(refused);
    // The audience of the API server itself.
    expect(await events(await cluster.tokenFor(tenant, "publisher"))).toMatchObject(refused);
    expect(await events(`${token.slice(0, -8)}AAAAAAAA`)).toMatchObject(refused);
    expect(await events("made.up.token")).toMatchObject(refused);
    const now = Math.floor(Date.now() / 1_000);
    expect(await events(resigned(token, { exp: now + 60 }))).toMatchObject({ status: 200 });
    expect(await events(resigned(token, { exp: now - 60 }))).toMatchObject(refused);
    const producer = `system:serviceaccount:${tenant}:publisher`;
    expect(gateway.lines("events published")).toMatchObject([{ producer }, { producer }, { producer }]);
    expect(gateway.output).not.toContain(token);
  });

  test("lets in nobody new while the API server is away, and asks again afterwards", async () => {
    const proxy = await new ApiProxy(cluster).start();
    cleanUps.push(() => proxy.stop());
    const { events } = await start(proxy);
    const [known, unknown] = [await tokenOf("publisher"), await tokenOf("publisher")];
    expect((await events(known)).status).toBe(200);
    proxy.refuse(({ path }) => REVIEWS.test(path));
    expect((await events(known)).status).toBe(200);
    const lost = await events(unknown);
    expect(lost).toMatchObject({ status: 503, body: { error: "AccessUnknown" } });
    expect(lost.headers.get("retry-after")).toBe("5");
    proxy.refuse(() => false);
    expect((await events(unknown)).status).toBe(200);
  });
});

describe("reviews of the real API server", () => {
  /** Counts what is asked, under a clock of the test's own. */
  const start = async () => {
    const transport = new KubeTransport({
      auth: await inClusterAuth(await gatewayCredentials()),
      metrics: createMetrics(),
    });
    cleanUps.push(() => transport.close());
    const timers = new ManualTimers();
    timers.wallOffset = Date.now();
    let asked = 0;
    const json = <T>(call: Call) => {
      asked += 1;
      return transport.json<T>(call);
    };
    return {
      reviews: new AccessReviews({ transport: { json }, audience: "davit", timers }),
      timers,
      asked: () => asked,
    };
  };
  const rights = (name: string) => ({
    verb: "create",
    group: "davit.dev",
    resource: "webhookroutes",
    subresource: "events",
    namespace: tenant,
    name,
  });

  test("count for a minute for a token that is known, and for ten seconds for one that is not", async () => {
    const { reviews, timers, asked } = await start();
    const token = await tokenOf("publisher");
    const username = `system:serviceaccount:${tenant}:publisher`;
    const both = async () => [(await reviews.authenticate(token))?.username, await reviews.authenticate("unknown")];
    expect(await both()).toEqual([username, undefined]);
    timers.stall(9_999);
    expect(await both()).toEqual([username, undefined]);
    expect(asked()).toBe(2);
    timers.stall(1);
    await both();
    expect(asked()).toBe(3);
    timers.stall(49_999);
    await reviews.authenticate(token);
    expect(asked()).toBe(3);
    timers.stall(1);
    await reviews.authenticate(token);
    expect(asked()).toBe(4);
  });

  test("count no longer than the token itself lives", async () => {
    const { reviews, timers, asked } = await start();
    const token = await tokenOf("publisher");
    timers.wallOffset += 3_600_000 - 2_000;
    await reviews.authenticate(token);
    timers.stall(1_000);
    await reviews.authenticate(token);
    expect(asked()).toBe(1);
    timers.stall(2_000);
    await reviews.authenticate(token);
    expect(asked()).toBe(2);
  });

  test("of a right count for ten seconds, whether it is there or not, for this route and this user only", async () => {
    const { reviews, timers, asked } = await start();
    const users = await Promise.all(
      ["publisher", "none"].map(async (name) => reviews.authenticate(await tokenOf(name))),
    );
    const [publisher, none] = users as [NonNullable<(typeof users)[0]>, NonNullable<(typeof users)[0]>];
    const all = () =>
      Promise.all([
        reviews.isAllowed(publisher, rights("digest")),
        reviews.isAllowed(publisher, rights("another-route")),
        reviews.isAllowed(none, rights("digest")),
      ]);
    expect(await all()).toEqual([true, false, false]);
    timers.stall(9_999);
    expect(await all()).toEqual([true, false, false]);
    expect(asked()).toBe(5);
    timers.stall(1);
    await all();
    expect(asked()).toBe(8);
  });

  test("of many requests with one token are one question", async () => {
    const { reviews, asked } = await start();
    const token = await tokenOf("publisher");
    const answers = await Promise.all(Array.from({ length: 50 }, () => reviews.authenticate(token)));
    expect(new Set(answers.map((answer) => answer?.username)).size).toBe(1);
    expect(asked()).toBe(1);
  });
});
