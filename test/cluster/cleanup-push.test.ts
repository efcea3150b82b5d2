import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ENTRY_SECRET_TYPE, entrySecretName } from "../../src/api/names.ts";
import { configSchema } from "../../src/config/schema.ts";
import { configOf } from "../../src/controllers/webhook-route/testing-plan.ts";
import { workerPlace } from "../../src/controllers/webhook-route/workers/worker-place.ts";
import { policiesOf, workerRbac } from "../../src/controllers/webhook-route/workers/worker-rbac.ts";
import { destinationEntry } from "../../src/gateway/testing.ts";
import { PUBLICATION_KEY, published } from "../../src/routes/publication.ts";
import { encodeWorkerConfig, WORKER_CONFIG_KEY, workerConfigs } from "../../src/routes/worker-config.ts";
import { answerProblems } from "../support/api-schema.ts";
import { chartRoles, type ChartRoles, pathOf } from "../support/chart.ts";
import { sharedCluster } from "../support/cluster.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { sendTo } from "../support/gateway.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { RoleProcess } from "../support/roles/role-process.ts";
import { openRoute } from "../support/roles/routes.ts";

// Gateway and worker as processes of their own, with the rights that the chart and the controller give them, and no others.
const cluster = sharedCluster();
const RBAC = "rbac.authorization.k8s.io";
const POLICY = "expired-labels";
const ENDPOINT = { path: "/v1/namespaces/{namespace}/cleanup-policies/{policy}/runs/{run}", method: "get" };
const RUN = { run_id: "2026-W05/17", warehouse_id: "wh-17", expired_before: "2026-01-31T00:00:00+01:00" };

const release = `r-${randomUUID().slice(0, 8)}`;
const dir = mkdtempSync(join(tmpdir(), "davit-cleanup-push-"));
let roles: ChartRoles;
let redis: TestRedis;
let tenant: string;
let gateway: RoleProcess;
let worker: RoleProcess | undefined;

beforeAll(async () => {
  tenant = await cluster.namespace("tenant");
  roles = await chartRoles(cluster, { release, namespace: await cluster.namespace("release"), values: {} });
  redis = await startRedis();
  await apply({
    apiVersion: "davit.dev/v1alpha1",
    kind: "CleanupPolicy",
    metadata: { name: POLICY, namespace: tenant },
    spec: { s3: { bucket: "a-bucket" }, prefixTemplate: "warehouses/{scope}/" },
  });
  await account("caller", `${release}-run-reader`);
  await account("publisher", `${release}-publisher`);
  gateway = await startGateway();
});
afterAll(async () => {
  await Promise.all([gateway?.end(), worker?.end()]);
  await redis?.stop();
  await roles?.remove();
  rmSync(dir, { recursive: true, force: true });
});

const apply = (object: KubeObject) => cluster.admin.apply(pathOf(object), object);

/** A service account of the tenant with a role of the chart. */
async function account(name: string, role: string): Promise<void> {
  const metadata = { name, namespace: tenant };
  await apply({ apiVersion: "v1", kind: "ServiceAccount", metadata });
  await apply({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [{ kind: "ServiceAccount", ...metadata }],
  });
}

function file(name: string, content: string | Buffer): string {
  const path = join(dir, `${randomUUID()}-${name}`);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

const credentials = async (namespace: string, name: string) => ({
  server: cluster.url,
  tokenFile: file("token", await cluster.tokenFor(namespace, name)),
  caFile: cluster.caFile,
});

/** The route of the tenant whose events ask for runs. */
const entryOf = () => {
  const entry = openRoute("cleanup", 10, "http://127.0.0.1:9/", { namespace: tenant, response: { status: 204 } });
  const destination = destinationEntry("runs", {
    target: { type: "cleanup", policy: POLICY },
    id: `${entry.route}/runs`,
  });
  return { ...entry, destinations: [destination] };
};

async function startGateway(): Promise<RoleProcess> {
  const { routesNamespace: namespace } = roles;
  const name = entrySecretName("default", tenant, "cleanup");
  await apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels: { "davit.dev/instance": "default" } },
    type: ENTRY_SECRET_TYPE,
    data: { [PUBLICATION_KEY]: Buffer.from(JSON.stringify(published(entryOf()))).toString("base64") },
  });
  const config = configSchema.parse({
    release,
    namespace: roles.namespace,
    redis: { urlFile: file("redis-url", redis.url) },
    kubernetes: await credentials(roles.gateway.namespace, roles.gateway.serviceAccount),
    gateway: { port: 0, adminPort: 0, api: { port: 0 }, address: "127.0.0.1", shutdownDelayMs: 0 },
  });
  return new RoleProcess("gateway", file("davit.yaml", JSON.stringify(config))).ready();
}

/** As the controller makes it: with the rights of the workers of that route's namespace. */
async function startWorker(): Promise<RoleProcess> {
  const place = workerPlace({ namespace: tenant }, configOf());
  const policies = policiesOf([entryOf()]);
  for (const object of workerRbac(place, [`${place.name}-0`], { namespace: tenant, policies }))
    await apply(JSON.parse(JSON.stringify(object)) as KubeObject);
  const [part] = workerConfigs("default", tenant, [entryOf()]);
  if (part === undefined) throw new Error("no config");
  const data = encodeWorkerConfig(part);
  const configDir = join(dir, randomUUID());
  mkdirSync(configDir);
  writeFileSync(join(configDir, WORKER_CONFIG_KEY), data);
  const metadata = { name: `${place.name}-0`, namespace: tenant };
  await apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data: { [WORKER_CONFIG_KEY]: data.toString("base64") },
  });
  const config = configSchema.parse({
    release,
    namespace: roles.namespace,
    redis: { urlFile: file("redis-url", redis.url) },
    kubernetes: await credentials(tenant, place.name),
    worker: { namespace: tenant, configName: place.name, configDir, adminPort: 0, address: "127.0.0.1" },
  });
  return new RoleProcess("worker", file("davit.yaml", JSON.stringify(config))).ready();
}

const push = (run: object) =>
  sendTo(gateway, {
    path: "/cleanup",
    headers: { "content-type": "application/json", "x-delivery-id": randomUUID() },
    body: JSON.stringify(run),
  });

/** Asks as a service account of the tenant, and holds the answer to its description. */
async function ask(location: string, name: string) {
  const { status } = await cluster.admin.create(`/api/v1/namespaces/${tenant}/serviceaccounts/${name}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 3_600, audiences: ["davit"] },
  });
  const api = `http://127.0.0.1:${String(gateway.lines("gateway listens")[0]?.["apiPort"])}`;
  const response = await fetch(api + location, { headers: { authorization: `Bearer ${String(status?.["token"])}` } });
  const body = (await response.json()) as Record<string, unknown>;
  const answer = { status: response.status, headers: response.headers, body };
  expect(answerProblems(ENDPOINT, answer)).toEqual([]);
  return answer;
}

test("a push becomes a run of the API server, and its caller is told of it from the acknowledgement on", async () => {
  const pushed = await push(RUN);
  const location = String(pushed.headers["location"]);
  expect([pushed.status, location]).toEqual([
    204,
    `/v1/namespaces/${tenant}/cleanup-policies/${POLICY}/runs/2026-W05%2F17`,
  ]);
  const queued = await ask(location, "caller");
  expect(queued).toMatchObject({ status: 200, body: { phase: "Pending", reason: "Queued" } });
  expect(await ask(location, "publisher")).toMatchObject({ status: 403, body: { error: "NotAllowed" } });
  const other = location.replace(POLICY, "another");
  expect(await ask(other, "caller")).toMatchObject({ status: 404, body: { error: "NoSuchPolicy" } });

  worker = await startWorker();
  await worker.waitFor("the run", async () => (await ask(location, "caller")).body["name"] !== undefined);
  const made = await ask(location, "caller");
  const runs = `/apis/davit.dev/v1alpha1/namespaces/${tenant}/cleanupruns`;
  const { items } = (await cluster.admin.get(runs)) as unknown as { items: readonly Record<string, unknown>[] };
  expect(items).toMatchObject([
    {
      metadata: { name: made.body["name"], labels: { "davit.dev/cleanup-policy": POLICY } },
      spec: {
        instance: "default",
        runId: "2026-W05/17",
        scope: "wh-17",
        cutoff: "2026-01-30T23:00:00.000Z",
        trigger: "Push",
        eventId: pushed.headers["davit-event-id"],
      },
    },
  ]);
  expect(made.body).toMatchObject({ phase: "Pending", scope: "wh-17", cutoff: "2026-01-30T23:00:00.000Z" });

  // The same once more is the same run; for something else the id is no other's.
  expect((await push({ ...RUN, note: "again" })).status).toBe(204);
  const conflicting = await push({ ...RUN, warehouse_id: "wh-18" });
  expect([conflicting.status, conflicting.headers["location"]]).toEqual([204, location]);
  const conflicts = `davit_cleanup_run_conflicts_total{namespace="${tenant}",policy="${POLICY}"}`;
  await worker.waitFor("the conflict", async () => (await worker?.metric(conflicts)) === 1);
  const again = (await cluster.admin.get(runs)) as unknown as { items: readonly unknown[] };
  expect(again.items).toHaveLength(1);
});
