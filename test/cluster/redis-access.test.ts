import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { provisionedRedisSecretName, routeKey } from "../../src/api/names.ts";
import { newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { commandRules, userName } from "../../src/custody/redis/user-rules.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { sharedCluster } from "../support/cluster.ts";
import { ControllerRelease } from "../support/roles/controller-release.ts";
import type { RoleProcess } from "../support/roles/role-process.ts";
import { keptEvents } from "../support/kept-events.ts";

const cluster = sharedCluster();
const poll = { timeout: 60_000, interval: 50 };

/** Values of a Secret; `undefined` without it. */
async function secretOf(namespace: string, name: string): Promise<Record<string, string> | undefined> {
  const { status, body } = await cluster.admin.request("GET", `/api/v1/namespaces/${namespace}/secrets/${name}`);
  if (status !== 200) return undefined;
  const data = (body["data"] ?? {}) as Record<string, string>;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

describe("Redis users (Provisioned)", () => {
  let release: ControllerRelease;
  let running: RoleProcess;
  let shop: string;

  beforeAll(async () => {
    release = await ControllerRelease.create(cluster, { redis: { users: "Provisioned" } });
    running = await release.start();
  });
  afterAll(() => release.stop());
  beforeEach(async () => {
    shop = await cluster.namespace("shop");
  });

  const name = () => provisionedRedisSecretName(release.instance);
  const urlOf = async (namespace = shop) => (await secretOf(namespace, name()))?.["url"];
  const user = () => userName({ role: "worker", instance: release.instance, namespace: shop });
  const users = async () => (await release.redis.client().call("ACL", "USERS")) as string[];
  const isLetIn = async (url: string | undefined) => {
    const { username, password } = new URL(url ?? "redis://nobody:nothing@host");
    const client = release.redis.client();
    return (await client.call("AUTH", username, password).catch(() => "no")) === "OK";
  };
  /** A route with a user. @returns the URL */
  const granted = async () => {
    await release.route(shop, "orders");
    await expect.poll(() => urlOf(), poll).toMatch(`redis://${user()}:`);
    return (await urlOf()) ?? "";
  };

  test("lets the workers of a namespace in, into what is theirs", async () => {
    const url = await granted();
    expect(await isLetIn(url)).toBe(true);
    const client = release.redis.client({ username: user(), password: new URL(url).password });
    expect(await client.set(`davit:${release.instance}:{${shop}}:x`, "1")).toBe("OK");
    await expect(client.set(`davit:${release.instance}:{another}:x`, "1")).rejects.toThrow("NOPERM");
    expect(release.output).not.toContain(new URL(url).password);
  });

  test("makes them again after Redis was restarted, with the same passwords", async () => {
    const url = await granted();
    // The news of the Secret itself has another look made, which would set the user as well.
    await sleep(2_500);
    await release.redis.kill9();
    await release.redis.restart();
    await expect.poll(() => isLetIn(url), poll).toBe(true);
    expect(await urlOf()).toBe(url);
  });

  test("gives a new password when the Secret is deleted, and knows the one before for a while", async () => {
    const url = await granted();
    await cluster.admin.delete(`/api/v1/namespaces/${shop}/secrets/${name()}`);
    await expect.poll(() => urlOf(), poll).toMatch(`redis://${user()}:`);
    const next = await urlOf();
    expect(next).not.toBe(url);
    expect([await isLetIn(next), await isLetIn(url)]).toEqual([true, true]);
  });

  test("takes user and Secret away with the last route, and only once nothing is on a shelf", async () => {
    await granted();
    const kept = shop;
    const store = new RedisStore({ url: release.redis.url });
    try {
      await store.start();
      const { metadata } = await cluster.admin.get(`/api/v1/namespaces/${shop}`);
      const policy = routePolicy({ route: routeKey(metadata.uid ?? "", "orders") });
      const destinations = [{ destination: `${policy.route}/own`, limit: 16 }];
      await store.inbox({ instance: release.instance, namespace: shop }).claim(newEvent({ policy, destinations }));
      await release.deleteRoute(shop, "orders");
      await expect.poll(() => store.namespacesWithShelves(release.instance), poll).toContain(shop);
    } finally {
      store.close();
    }
    shop = await cluster.namespace("shop");
    await granted();
    await release.deleteRoute(shop, "orders");
    await expect.poll(() => urlOf(), poll).toBeUndefined();
    await expect.poll(() => users(), poll).not.toContain(user());
    expect(await urlOf(kept)).toBeDefined();
    expect(await users()).toContain(userName({ role: "worker", instance: release.instance, namespace: kept }));
  });

  test("are not made for a namespace that was made anew until what is left of the one before it is adopted or purged", async () => {
    const store = new RedisStore({ url: release.redis.url });
    try {
      await store.start();
      const namespaces = "/api/v1/namespaces";
      const keyOf = async (route: string) =>
        routeKey((await cluster.admin.get(`${namespaces}/${shop}`)).metadata.uid ?? "", route);
      await granted();
      const before = await keyOf("orders");
      const policy = routePolicy({ route: before });
      const destinations = [{ destination: `${before}/own`, limit: 16 }];
      const scope = { instance: release.instance, namespace: shop };
      await store.inbox(scope).claim(newEvent({ policy, destinations }));
      await cluster.admin.delete(`${namespaces}/${shop}`);
      const isGone = async () => (await cluster.admin.request("GET", `${namespaces}/${shop}`)).status === 404;
      await expect.poll(isGone, poll).toBe(true);
      await cluster.admin.create(namespaces, { metadata: { name: shop } });
      await release.route(shop, "orders");
      await expect
        .poll(() => release.condition(shop, "orders", "WorkersAvailable"), poll)
        .toBe("False/EarlierNamespace");
      const { conditions = [] } = await release.status(shop, "orders");
      const { message } = conditions.find(({ type }) => type === "WorkersAvailable") ?? {};
      expect(message).toContain(`davit orphans adopt -n ${shop} --from ${before} --to ${shop}/orders`);
      const told = async () =>
        (await release.list(shop, "events.k8s.io/v1/events")).filter(({ reason }) => reason === "EarlierNamespace");
      await expect.poll(async () => (await told()).length, poll).toBe(1);
      expect((await told())[0]?.["note"]).toContain(`davit orphans purge -n ${shop} ${before} --yes`);
      expect(await urlOf()).toBeUndefined();
      // Not the new route's own: neither in its log nor in its lanes.
      const after = await keyOf("orders");
      expect(await keptEvents(store.operations(scope), after)).toEqual([]);
      expect(await store.shelves(scope).adopt(before, after)).toEqual({ records: 1, left: 0, more: false });
      expect(await keptEvents(store.operations(scope), after)).toHaveLength(1);
      await expect.poll(() => urlOf(), { ...poll, timeout: 60_000 }).toMatch(`redis://${user()}:`);
    } finally {
      store.close();
    }
  });

  test("of a namespace that went while nobody led are found and taken away", async () => {
    const gone = userName({ role: "worker", instance: release.instance, namespace: `gone-${randomUUID()}` });
    const other = userName({ role: "worker", instance: "another", namespace: "gone" });
    for (const one of [gone, other]) await release.redis.client().call("ACL", "SETUSER", one, "on");
    await running.end();
    running = await release.start();
    await expect.poll(() => users(), poll).not.toContain(gone);
    expect(await users()).toContain(other);
  });
});

describe.each(["gateway", "console"] as const)("the Redis user of the %s (Provisioned)", (role) => {
  test("is kept with its Secret in the release's namespace, with the chart's rights and no others", async () => {
    const values = { redis: { users: "Provisioned", external: { secretName: "redis" } }, console: { enabled: true } };
    const release = await ControllerRelease.create(cluster, {}, values);
    try {
      const secretName = `davit-${release.instance}-redis-${role}`;
      await release.start({ redis: { users: "Provisioned", [`${role}SecretName`]: secretName } });
      const urlOf = async () => (await secretOf(release.namespace, secretName))?.["url"];
      const user = userName({ role, instance: release.instance });
      await expect.poll(urlOf, poll).toMatch(`redis://${user}:`);
      const url = (await urlOf()) ?? "";
      const client = release.redis.client({ username: user, password: new URL(url).password });
      expect(await client.set(`davit:${release.instance}:{any}:x`, "1")).toBe("OK");
      await expect(client.set("another", "1")).rejects.toThrow("NOPERM");
      await release.redis.client().call("ACL", "DELUSER", user);
      const isBack = async () => (await release.redis.client().call("ACL", "GETUSER", user)) !== null;
      await expect.poll(isBack, poll).toBe(true);
      expect(await urlOf()).toBe(url);
      expect(release.output).not.toContain(new URL(url).password);
    } finally {
      await release.stop();
    }
  });
});

describe("Redis users that cannot be", () => {
  const dir = mkdtempSync(join(tmpdir(), "davit-redis-access-"));
  let release: ControllerRelease;
  let shop: string;

  beforeEach(async () => {
    shop = await cluster.namespace("shop");
    release = await ControllerRelease.create(cluster);
  });
  afterEach(() => release.stop());
  afterAll(() => rmSync(dir, { recursive: true }));

  test("set (Provisioned) are said in the status and once in the log, with the remedy", async () => {
    const admin = release.redis.client();
    const rules = [...commandRules("controller"), "allkeys", "allchannels"];
    await admin.call("ACL", "SETUSER", "limited", "on", ">secret-of-limited", ...rules);
    const urlFile = join(dir, "limited");
    writeFileSync(urlFile, `redis://limited:secret-of-limited@127.0.0.1:${release.redis.port}`);
    await release.start({ redis: { users: "Provisioned", urlFile } });
    await release.route(shop, "orders");
    await expect
      .poll(() => release.condition(shop, "orders", "WorkersAvailable"), poll)
      .toBe("False/RedisUsersRefused");
    expect(release.output.split("give it +acl").length).toBe(2);
    expect(release.output).not.toContain("secret-of-limited");
    await admin.call("ACL", "SETUSER", "limited", "+acl");
    await expect
      .poll(() => release.condition(shop, "orders", "WorkersAvailable"), poll)
      .toBe("False/WorkersUnavailable");
  });

  test("found (Provided) are said in the status with the command that helps", async () => {
    await release.start();
    await release.route(shop, "orders");
    const condition = () => release.condition(shop, "orders", "WorkersAvailable");
    await expect.poll(condition, poll).toBe("False/RedisSecretNotFound");
    const { conditions = [] } = await release.status(shop, "orders");
    const { message } = conditions.find(({ type }) => type === "WorkersAvailable") ?? {};
    expect(message).toContain(`kubectl create secret generic davit-redis --namespace ${shop}`);
    await release.secret(shop, "davit-redis", { url: release.redis.url });
    await expect.poll(condition, poll).toBe("False/WorkersUnavailable");
  });

  test("found (Shared) are those of the release's namespace", async () => {
    await release.start({ redis: { users: "Shared" } });
    await release.route(shop, "orders");
    const condition = () => release.condition(shop, "orders", "WorkersAvailable");
    await expect.poll(condition, poll).toBe("False/RedisSecretNotFound");
    await release.secret(release.namespace, "davit-redis", { url: release.redis.url });
    await expect.poll(condition, poll).toBe("False/WorkersUnavailable");
  });
});
