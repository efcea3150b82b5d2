import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ENTRY_SECRET_TYPE, entrySecretName, SERVED_SEQ_ANNOTATION, servingLeaseName } from "../../src/api/names.ts";
import { configSchema, type Config } from "../../src/config/schema.ts";
import { workerObjects } from "../../src/controllers/webhook-route/workers/workers.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { PUBLICATION_KEY, published } from "../../src/routes/publication.ts";
import { chartRoles, pathOf, type ChartRoles } from "../support/chart.ts";
import type { KubeObject } from "../support/control-plane/client.ts";
import { sharedCluster } from "../support/cluster.ts";
import { waitFor } from "../support/dev-process.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { post } from "../support/roles/load.ts";
import { Receiver } from "../support/roles/receiver.ts";
import { RoleProcess } from "../support/roles/role-process.ts";
import { openRoute } from "../support/roles/routes.ts";

const cluster = sharedCluster();

describe("gateway and worker with exactly the rights that they are given", () => {
  const release = `r-${randomUUID().slice(0, 8)}`;
  const dir = mkdtempSync(join(tmpdir(), "davit-roles-"));
  const receiver = new Receiver();
  const processes: RoleProcess[] = [];
  let redis: TestRedis;
  let roles: ChartRoles;
  let tenant: string;
  let config: Config;

  beforeAll(async () => {
    [redis, tenant] = await Promise.all([startRedis(), cluster.namespace("tenant"), receiver.start()]);
    const namespace = await cluster.namespace("release");
    roles = await chartRoles(cluster, { release, namespace, values: {} });
    config = configSchema.parse({
      release,
      namespace,
      redis: { urlFile: file("redis-url", redis.url) },
      workers: { egress: { allow: ["127.0.0.1"] } },
    });
  });
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.end();
  });
  afterAll(async () => {
    await roles.remove();
    await redis.stop();
    receiver.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const file = (name: string, content: string) => {
    const path = join(dir, `${randomUUID()}-${name}`);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  /** Starts a role as this service account. */
  const start = async (role: string, account: { namespace: string; serviceAccount: string }, sections: object) => {
    const token = await cluster.tokenFor(account.namespace, account.serviceAccount);
    const kubernetes = { server: cluster.url, tokenFile: file("token", token), caFile: cluster.caFile };
    const process = new RoleProcess(role, file("davit.yaml", JSON.stringify({ ...config, ...sections, kubernetes })));
    processes.push(process);
    return process.ready();
  };
  const route = (seq: number, path: string) => openRoute("orders", seq, receiver.url + path, { namespace: tenant });
  const publish = (entry: RouteEntry) => {
    const name = entrySecretName("default", tenant, entry.name);
    const { routesNamespace: namespace } = roles;
    return cluster.admin.apply(`/api/v1/namespaces/${namespace}/secrets/${name}`, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace, labels: { "davit.dev/instance": "default" } },
      type: ENTRY_SECRET_TYPE,
      data: { [PUBLICATION_KEY]: Buffer.from(JSON.stringify(published(entry))).toString("base64") },
    });
  };
  const servedSeq = async (pod: string): Promise<string | undefined> => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${config.namespace}/leases/${servingLeaseName(pod)}`;
    const { metadata } = (await cluster.admin.request("GET", path)).body as {
      metadata?: { annotations?: Record<string, string> };
    };
    return metadata?.annotations?.[SERVED_SEQ_ANNOTATION];
  };
  const listener = { port: 0, adminPort: 0, address: "127.0.0.1" };

  test("a gateway serves what is published, follows it, and says so on its Lease", async () => {
    await publish(route(10, "/first"));
    const gateway = await start("gateway", roles.gateway, {
      gateway: { ...listener, podName: "pod-a", shutdownDelayMs: 0 },
    });
    expect(await post(`${gateway.url}/orders`, "one")).toBe(202);
    await waitFor("the Lease", async () => (await servedSeq("pod-a")) === "10");
    await publish({ ...route(11, "/first"), response: { status: 200 } });
    await waitFor("the news on the Lease", async () => (await servedSeq("pod-a")) === "11");
    expect(await post(`${gateway.url}/orders`, "two")).toBe(200);
    expect(gateway.lines("cannot be")).toEqual([]);
  });

  test("a worker goes by the config that the controller makes for it, and follows its Secrets by name", async () => {
    /** Applies what the controller would, without the Deployment. @returns the worker's own config file */
    const apply = async (entry: RouteEntry): Promise<Config> => {
      const objects = workerObjects({
        scope: { namespace: tenant },
        release: config,
        routes: [entry],
        replicas: { replicas: 1, owner: "davit" },
        hasKeda: false,
      });
      const kinds = ["ServiceAccount", "Role", "RoleBinding", "Secret"];
      for (const object of objects.filter(({ kind }) => kinds.includes(kind)) as unknown as KubeObject[]) {
        await cluster.admin.apply(pathOf(object), object);
      }
      const secret = objects.find(({ kind }) => kind === "Secret") as unknown as { data: Record<string, string> };
      return parse(Buffer.from(secret.data["davit.yaml"] ?? "", "base64").toString()) as Config;
    };
    await publish(route(20, "/unused"));
    const own = await apply(route(20, "/before"));
    const account = { namespace: tenant, serviceAccount: own.worker.configName ?? "" };
    const worker = await start("worker", account, {
      ...own,
      redis: config.redis,
      worker: { ...own.worker, adminPort: 0, address: "127.0.0.1" },
    });
    await apply(route(21, "/after"));
    await worker.waitFor("the change", async () => (await worker.metric("davit_served_seq")) === 21);
    const gateway = await start("gateway", roles.gateway, { gateway: { ...listener, shutdownDelayMs: 0 } });
    expect(await post(`${gateway.url}/orders`, "three")).toBe(202);
    await worker.waitFor("the delivery", () => receiver.paths.includes("/after"));
    expect(receiver.paths).not.toContain("/before");
    expect(worker.lines("cannot be")).toEqual([]);
  });
});
