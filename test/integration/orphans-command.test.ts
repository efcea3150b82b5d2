import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inlineDestinationId, routeKey } from "../../src/api/names.ts";
import { CommandError, UsageError } from "../../src/cli/command.ts";
import { command } from "../../src/cli/orphans.ts";
import { WEBHOOK_ROUTES } from "../../src/controllers/webhook-route/route-types.ts";
import { destinationPolicy, newEvent, routePolicy, take } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { NAMESPACES } from "../../src/kube/core-types.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const OLD_UID = "00000000-0000-0000-0000-00000000000a";

describe("davit orphans", () => {
  let redis: TestRedis;
  let api: FakeApiServer;
  let store: RedisStore;
  let namespace = "";
  let uid = "";
  const dir = mkdtempSync(join(tmpdir(), "davit-orphans-"));
  const kubeconfig = join(dir, "kubeconfig");

  beforeAll(async () => {
    redis = await startRedis();
    api = await startFakeApiServer([NAMESPACES, WEBHOOK_ROUTES]);
    const config = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "test",
      clusters: [{ name: "test", cluster: { server: api.url, "insecure-skip-tls-verify": true } }],
      users: [{ name: "test", user: { token: api.token } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    };
    writeFileSync(kubeconfig, JSON.stringify(config));
  });
  afterAll(async () => {
    await redis.stop();
    await api.stop();
    rmSync(dir, { recursive: true });
  });
  beforeEach(async () => {
    namespace = `ns-${randomUUID()}`;
    const client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
    api.addNamespace(namespace);
    ({ uid } = (await client.resource(NAMESPACES).get({ name: namespace })).metadata);
    for (const [name, instance] of [
      ["orders", "default"],
      ["others", "blue"],
    ]) {
      const spec = { instance, exposure: { host: "h", path: `/${name}` } };
      await client.resource(WEBHOOK_ROUTES).create({
        apiVersion: "davit.dev/v1alpha1",
        kind: "WebhookRoute",
        metadata: { name: name ?? "", namespace },
        spec,
      } as never);
    }
    await client.transport.close();
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(() => store.close());

  const scope = () => ({ instance: "default", namespace });
  const run = async (...args: string[]) => {
    let [stdout, stderr] = ["", ""];
    const io = {
      stdout: { write: (text: string) => void (stdout += text) },
      stderr: { write: (text: string) => void (stderr += text) },
    };
    const code = await command.run([...args, "--redis-url", redis.url, "-n", namespace], io);
    return { code, stdout, stderr };
  };
  const inCluster = (...args: string[]) => run(...args, "--kubeconfig", kubeconfig);
  /** Accepts an event for a route of the namespace's present life, or of its former one. */
  const accept = async (name: string, namespaceUid = uid) => {
    const route = routeKey(namespaceUid, name);
    const destination = inlineDestinationId(route, "main");
    const policy = routePolicy({ route });
    const { id } = await store.inbox(scope()).claim(newEvent({ policy, destinations: [{ destination, limit: 4 }] }));
    return { id, route, destination };
  };
  const shelve = (route: string, name: string) => store.shelves(scope()).shelve({ route, name, namespaceUid: uid });

  test("lists what lies on shelves, and what no route of the cluster has", async () => {
    await accept("orders");
    const deleted = await accept("gone");
    await shelve(deleted.route, "gone");
    const restored = await accept("orders", OLD_UID);
    const { stdout } = await inCluster("-o", "json");
    expect(JSON.parse(stdout)).toMatchObject([
      { route: deleted.route, name: "gone", events: 1, records: 1, namespace },
      { route: restored.route, name: "", namespace },
    ]);
    const shown = await inCluster();
    expect(shown.stdout).toContain(`${namespace}/gone`);
    expect(JSON.parse((await run("-o", "json", "--no-cluster")).stdout)).toMatchObject([{ route: deleted.route }]);
  });

  test("gives the events of the namespace's former life to the route that is there now", async () => {
    const { id, route } = await accept("orders", OLD_UID);
    const adopted = await inCluster("adopt", "--from", route, "--to", `${namespace}/orders`);
    expect(adopted).toMatchObject({ code: 0, stdout: `${namespace}/orders has 1 records of ${route}\n` });
    const worker = store.outbox(scope(), { policies: () => [] });
    const destination = inlineDestinationId(routeKey(uid, "orders"), "main");
    expect((await take(worker, destinationPolicy({ destination }))).map(({ eventId }) => eventId)).toEqual([id]);
    expect((await inCluster("-o", "json")).stdout).toBe("[]\n");
  });

  test("says when a running attempt keeps some of them back", async () => {
    const { route, destination } = await accept("orders", OLD_UID);
    await take(store.outbox(scope(), { policies: () => [] }), destinationPolicy({ destination }));
    expect(await inCluster("adopt", "--from", route, "--to", `${namespace}/orders`)).toMatchObject({ code: 1 });
  });

  test("touches nothing that a live route has, or may have", async () => {
    const { id, route } = await accept("orders");
    const { route: gone } = await accept("orders", OLD_UID);
    await expect(inCluster("purge", route, "--yes")).rejects.toThrow(`${namespace}/orders, which exists`);
    await expect(inCluster("adopt", "--from", route, "--to", `${namespace}/orders`)).rejects.toThrow(CommandError);
    await expect(run("purge", gone, "--yes", "--no-cluster")).rejects.toThrow("a live route may have it");
    await expect(inCluster("adopt", "--from", gone, "--to", `${namespace}/absent`)).rejects.toThrow("apply it first");
    await expect(inCluster("adopt", "--from", gone, "--to", `${namespace}/others`)).rejects.toThrow(CommandError);
    await expect(inCluster("purge", "0123456789abcdef", "--yes")).rejects.toThrow("has no events here");
    expect((await store.ledger(scope()).event(id))?.copies[0]?.state).toBe("waiting");
  });

  test("purges only with --yes, and says before and after what goes", async () => {
    const { id, route } = await accept("gone");
    await shelve(route, "gone");
    const preview = await run("purge", route, "--no-cluster");
    expect(preview.stdout).toBe(
      `would remove 1 records, 1 of them waiting, 0 dead letters of ${route} (${namespace}/gone). Nothing was removed: add --yes\n`,
    );
    expect(await store.ledger(scope()).event(id)).toBeDefined();
    const done = await run("purge", route, "--yes", "--no-cluster");
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain("removed 1 records");
    expect(await store.ledger(scope()).event(id)).toBeUndefined();
  });

  test("purges what nobody has shelved, when the cluster says that it is nobody's", async () => {
    const { id, route } = await accept("orders", OLD_UID);
    expect((await inCluster("purge", route)).stdout).toContain("would remove all it has");
    await inCluster("purge", route, "--yes");
    expect(await store.ledger(scope()).event(id)).toBeUndefined();
  });

  test("adopts without a cluster when it is told the namespace's UID", async () => {
    const { id, route } = await accept("gone");
    await shelve(route, "gone");
    await expect(run("adopt", "--from", route, "--to", `${namespace}/orders`, "--no-cluster")).rejects.toThrow(
      "--namespace-uid",
    );
    await run("adopt", "--from", route, "--to", `${namespace}/orders`, "--no-cluster", "--namespace-uid", uid);
    expect(await store.ledger(scope()).event(id)).toMatchObject({ route: routeKey(uid, "orders") });
  });

  test("says how it is used, and why the cluster does not answer", async () => {
    await expect(inCluster("adopt", "--from", "x")).rejects.toThrow(UsageError);
    await expect(inCluster("purge", "nokey")).rejects.toThrow("16 hex digits");
    await expect(inCluster("explode")).rejects.toThrow("there are adopt and purge");
    await expect(run("--kubeconfig", join(dir, "absent"))).rejects.toThrow("cannot tell which routes live");
  });
});
