import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ROUTE, newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Incarnation } from "../../src/custody/redis/incarnation.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import {
  aclNode,
  type AclNode,
  newPassword,
  RedisUsers,
  type RedisUser,
  urlFor,
} from "../../src/custody/redis/users.ts";
import { userName } from "../../src/custody/redis/user-rules.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SHOP = { instance: "default", namespace: "shop" };
const BANK = { instance: "default", namespace: "bank" };

describe("Redis users that the controller sets", () => {
  let redis: TestRedis;
  const stores: RedisStore[] = [];
  const nodes: { close: () => void }[] = [];

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) store.close();
    for (const node of nodes.splice(0)) node.close();
    await redis.stop();
  });

  const gateway = (): RedisUser => ({ role: "gateway", instance: "default", password: newPassword() });
  const worker = (scope = SHOP): RedisUser => ({ role: "worker", ...scope, password: newPassword() });
  const controller = (): RedisUser => ({ role: "controller", instance: "default", password: newPassword() });
  const urlOf = (user: RedisUser) => urlFor(redis.url, { user: userName(user), password: user.password });
  const users = () => {
    const node = aclNode(redis.url);
    nodes.push(node);
    return new RedisUsers([node], "default");
  };
  const open = async (user: RedisUser) => {
    const store = new RedisStore({ url: urlOf(user) });
    stores.push(store);
    return { store, health: await store.start() };
  };
  const isAccepted = async (name: string, password: string) => {
    const reply = await redis
      .client()
      .call("AUTH", name, password)
      .catch(() => "refused");
    return reply === "OK";
  };
  const until = async (met: () => boolean, ms = 30_000) => {
    for (const end = performance.now() + ms; !met() && performance.now() < end; ) await sleep(20);
    return met();
  };

  test("each role runs what it needs with exactly its rules, and its URL has a user name", async () => {
    const all = [gateway(), worker(), controller()];
    await users().ensure(all);
    for (const user of all) {
      const { store, health } = await open(user);
      expect({ role: user.role, up: health.up }).toEqual({ role: user.role, up: true });
      await store.selfTest(SHOP);
    }
    const { store } = await open(all[0] as RedisUser);
    expect(store.health().durable).toMatchObject({ ok: true, source: "verified" });
    store.inbox(SHOP).reject({
      route: ROUTE,
      at: 1,
      client: "127.0.0.1",
      status: 401,
      reason: "x",
      headerNames: [],
      bodyBytes: 0,
      bodySha256: "",
    });
    await store.inbox(SHOP).claim(newEvent());
    expect(await store.ledger(SHOP).rejections(ROUTE)).toHaveLength(1);
  });

  test("a gateway's user may keep the heartbeat in the data, and listens to no channel", async () => {
    const user = gateway();
    await users().ensure([user]);
    const client = connect(urlOf(user), { enableOfflineQueue: true });
    await new Incarnation(client, "davit:default:{shop}", () => undefined).beat();
    expect(await redis.client().hget("davit:default:{shop}:incarnation", "beat")).toBe("1");
    await expect(client.subscribe("davit:default:{shop}:hint")).rejects.toThrow("NOPERM");
    client.disconnect();
  });

  test("a worker takes tickets and gets hints as its user", async () => {
    const all = [gateway(), worker()];
    await users().ensure(all);
    const { store: ingest } = await open(all[0] as RedisUser);
    const { store } = await open(all[1] as RedisUser);
    const tickets: string[] = [];
    const hints: string[] = [];
    const stop = await store.outbox(SHOP, { policies: () => [routePolicy()] }).start({
      onHint: (destination) => void hints.push(destination),
      onTicket: async ({ destination }) => void tickets.push(destination),
    });
    await sleep(300);
    await ingest.inbox(SHOP).claim(newEvent());
    expect(await until(() => tickets.length > 0 && hints.length > 0)).toBe(true);
    await store.retireTickets(SHOP, ROUTE);
    await stop();
  });

  test("a worker's user reaches nothing of another namespace", async () => {
    const all = [worker(SHOP), worker(BANK)];
    await users().ensure(all);
    await redis.client().hset("davit:default:{bank}:e:1", "b", "secret");
    const { store } = await open(all[0] as RedisUser);
    await expect(store.ledger(BANK).body("1")).rejects.toMatchObject({ code: "Denied" });
    await expect(store.selfTest(BANK)).rejects.toMatchObject({ code: "Denied" });
    const client = connect(urlOf(all[0] as RedisUser), { enableOfflineQueue: true });
    const refused = [
      () => client.publish("davit:default:{bank}:hint", "x"),
      () => client.subscribe("davit:default:{bank}:hint"),
      () => client.keys("*"),
      () => client.scan(0),
      () => client.config("GET", "requirepass"),
      () => client.call("ACL", "LIST"),
      () => client.call("CLIENT", "LIST"),
      () => client.call("PUBSUB", "CHANNELS"),
      () => client.flushall(),
      () => client.select(1),
      () => client.eval("return redis.call('GET', 'davit:default:{bank}:x')", 0),
    ];
    for (const attempt of refused) await expect(attempt()).rejects.toThrow(/NOPERM|can't access/);
    client.disconnect();
  });

  test("the controller's user reaches the shelves of every namespace", async () => {
    const user = controller();
    await users().ensure([user]);
    const { store } = await open(user);
    for (const scope of [SHOP, BANK]) {
      await store.inbox(scope).claim(newEvent());
      await store.shelves(scope).shelve({ route: ROUTE, name: "orders", namespaceUid: "u" });
    }
    expect(await store.namespacesWithShelves("default")).toEqual(["bank", "shop"]);
    await store.shelves(BANK).purge(ROUTE, 0);
    expect(await store.namespacesWithShelves("default")).toEqual(["shop"]);
  });

  test("what is right is left alone, what somebody changed is set again", async () => {
    const user = worker();
    const name = userName(user);
    const keeper = users();
    expect(await keeper.ensure([user])).toEqual({ changed: [name], removed: [], failed: [] });
    expect((await keeper.ensure([user])).changed).toEqual([]);
    expect((await users().ensure([user])).changed, "another process finds it right").toEqual([]);
    const admin = redis.client();
    for (const change of [["~*"], ["+flushall"], ["&*"], ["off"], ["nopass"], [">other"], ["-get"], ["(+@all ~*)"]]) {
      await admin.call("ACL", "SETUSER", name, ...change);
      const rounds = [(await keeper.ensure([user])).changed, (await keeper.ensure([user])).changed];
      expect({ change, rounds }).toEqual({ change, rounds: [[name], []] });
    }
    await admin.call("ACL", "DELUSER", name);
    expect((await keeper.ensure([user])).changed).toEqual([name]);
    await (await open(user)).store.selfTest(SHOP);
  });

  test("a new password takes the place of the old one, which holds on only when it is said so", async () => {
    const user = worker();
    const name = userName(user);
    const keeper = users();
    await keeper.ensure([user]);
    const password = newPassword();
    expect((await keeper.ensure([{ ...user, password, previousPassword: user.password }])).changed).toEqual([name]);
    expect([await isAccepted(name, password), await isAccepted(name, user.password)]).toEqual([true, true]);
    await keeper.ensure([{ ...user, password }]);
    expect([await isAccepted(name, password), await isAccepted(name, user.password)]).toEqual([true, false]);
  });

  test("users of the instance that are wanted no more go, others stay", async () => {
    const [shop, bank] = [worker(SHOP), worker(BANK)];
    const other: RedisUser = { role: "worker", instance: "blue", namespace: "shop", password: newPassword() };
    await users().ensure([shop, bank, other]);
    expect(await users().ensure([shop], false)).toMatchObject({ removed: [] });
    expect(await users().ensure([shop], true)).toMatchObject({ removed: [userName(bank)] });
    expect(await redis.client().call("ACL", "USERS")).toEqual(
      expect.arrayContaining(["default", userName(shop), userName(other)]),
    );
  });

  test("a server that lost its users gets them again, and who was connected goes on", async () => {
    const user = worker();
    const keeper = users();
    await keeper.ensure([user]);
    const { store } = await open(user);
    await redis.restart();
    expect(await until(() => !store.health().up)).toBe(true);
    await sleep(300);
    expect(await keeper.ensure([user])).toMatchObject({ changed: [userName(user)], failed: [] });
    expect(await until(() => store.health().up)).toBe(true);
    await store.selfTest(SHOP);
  });

  test("a node that fails does not keep the others from being right", async () => {
    const broken: AclNode = {
      name: "broken:6379",
      acl: () => Promise.reject(Object.assign(new Error("NOPERM no"), { name: "ReplyError" })),
    };
    const node = aclNode(redis.url);
    nodes.push(node);
    const user = worker();
    const report = await new RedisUsers([broken, node], "default").ensure([user], true);
    expect(report).toEqual({
      changed: [userName(user)],
      removed: [],
      failed: [{ node: "broken:6379", code: "Denied" }],
    });
    expect(await isAccepted(userName(user), user.password)).toBe(true);
  });

  test("no password goes over the wire or into the report", async () => {
    const user = worker();
    const admin = redis.client();
    await admin.config("SET", "slowlog-log-slower-than", "0");
    const sent: string[] = [];
    const node = aclNode(redis.url);
    nodes.push(node);
    const spied: AclNode = { name: node.name, acl: (...args) => (sent.push(...args), node.acl(...args)) };
    const report = await new RedisUsers([spied], "default").ensure([user]);
    const seen = JSON.stringify([
      sent,
      report,
      await admin.call("SLOWLOG", "GET", "128"),
      await admin.call("ACL", "LIST"),
    ]);
    expect(sent).toContain("SETUSER");
    expect(seen).not.toContain(user.password);
  });
});
