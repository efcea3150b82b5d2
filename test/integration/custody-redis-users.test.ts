import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { destinationPolicy, newEvent, routePolicy, settlement } from "../../src/custody/conformance/fixtures.ts";
import { Secret } from "../../src/lib/secret.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Incarnation } from "../../src/custody/redis/incarnation.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { aclRules } from "../../src/custody/redis/user-rules.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SCOPE = { instance: "default", namespace: "shop" };
const TAG = "davit:default:{shop}";

const WORKER_RULES = aclRules({ role: "worker", ...SCOPE }).join(" ");
const GATEWAY_RULES = aclRules({ role: "gateway", ...SCOPE }).join(" ");

describe("custody under least privilege", () => {
  let redis: TestRedis;
  const stores: RedisStore[] = [];
  const stops: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    for (const store of stores.splice(0)) store.close();
    await redis.stop();
  });

  const user = async (name: string, rules: string) => {
    await redis.client().call("ACL", "SETUSER", name, "reset", "on", `>${name}`, ...rules.split(" "));
    return `redis://${name}:${name}@127.0.0.1:${redis.port}`;
  };
  const open = async (url: string, durability: "verify" | "assert" = "verify") => {
    const store = new RedisStore({ url, durability });
    stores.push(store);
    await store.start();
    return store;
  };

  test("a worker's user runs every script, takes tickets and gets hints", async () => {
    const gateway = await open(await user("gateway", GATEWAY_RULES));
    expect(gateway.health()).toMatchObject({ up: true, durable: { ok: true, source: "verified" } });
    const worker = await open(await user("worker", WORKER_RULES));
    await worker.selfTest(SCOPE);
    const outbox = worker.outbox(SCOPE, { policies: () => [routePolicy()] });
    const policy = destinationPolicy();
    const policies = new Map([[policy.destination, policy]]);
    const delivered: string[] = [];
    stops.push(
      await outbox.start({
        onHint: () => undefined,
        onTicket: async (ticket) => {
          const takes = [{ destination: policy.destination, want: 9, started: ticket.generation }];
          const { copies } = await outbox.turn({ settles: [], takes, policies });
          await outbox.turn({ settles: copies.map((copy) => settlement(copy, "delivered")), takes: [], policies });
          delivered.push(...copies.map(({ eventId }) => eventId));
          await outbox.done(ticket, policy);
        },
      }),
    );
    for (let i = 1; i <= 3; i++) {
      await gateway.inbox(SCOPE).claim(newEvent());
      for (let waited = 0; delivered.length < i && waited < 5_000; waited += 20) await sleep(20);
      expect(delivered).toHaveLength(i);
    }
  });

  test("the self-test leaves nothing behind", async () => {
    const store = await open(redis.url);
    await store.selfTest(SCOPE);
    expect(await redis.client().keys("*")).toEqual([]);
  });

  test.each([
    ["a command", WORKER_RULES.replace("+time", "-time -evalsha -eval")],
    ["a command inside a script", `${WORKER_RULES} -zadd`],
    ["the key pattern", WORKER_RULES.replace(`~${TAG}:*`, "~davit:default:{other}:*")],
    ["the channel", WORKER_RULES.replace(`&${TAG}:*`, "&other:*")],
  ])("the self-test says what a user lacks: %s", async (_what, rules) => {
    const store = await open(await user("poor", rules));
    await expect(store.selfTest(SCOPE)).rejects.toMatchObject({ code: "Denied" });
  });

  test("the console's user runs every script, and reads no settings", async () => {
    const url = await user("console", aclRules({ role: "console", ...SCOPE }).join(" "));
    const console = await open(url, "assert");
    expect(console.health()).toMatchObject({ up: true });
    await console.selfTest(SCOPE);
    const client = redis.client({ username: "console", password: "console" });
    await expect(client.call("CONFIG", "GET", "requirepass")).rejects.toThrow("NOPERM");
    await expect(client.get("davit:other:{shop}:live")).rejects.toThrow("NOPERM");
  });

  test("secrets of handshakes are the gateway's and the controller's, and out of a worker's reach", async () => {
    const controller = await open(await user("controller", aclRules({ role: "controller", ...SCOPE }).join(" ")));
    const gateway = await open(await user("gateway", GATEWAY_RULES));
    const worker = await open(await user("worker", WORKER_RULES));
    const route = "00000000000000aa";
    await gateway.inbox(SCOPE).claim(newEvent());
    const kept = { route, at: Date.now(), client: "192.0.2.7", kind: "hook-secret", value: Secret.of("hush") } as const;
    await gateway.inbox(SCOPE).keep(kept);
    await expect(worker.ledger(SCOPE).handshakes(route)).rejects.toMatchObject({ code: "Denied" });
    await expect(worker.inbox(SCOPE).keep(kept)).rejects.toMatchObject({ code: "Denied" });
    expect(await controller.ledger(SCOPE).handshakes(route)).toHaveLength(1);
    await controller.shelves(SCOPE).shelve({ route, name: "orders", namespaceUid: "uid" });
    await controller.shelves(SCOPE).purge(route, 0);
    expect(await redis.client().keys("*handshakes*")).toEqual([]);
  });

  test("another namespace's keys are out of reach", async () => {
    const worker = await open(await user("worker", WORKER_RULES));
    await expect(worker.ledger({ instance: "default", namespace: "bank" }).stats(["x"])).rejects.toMatchObject({
      code: "Denied",
    });
  });
});

describe("the incarnation of the data", () => {
  let redis: TestRedis;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.stop());

  test("tells that Redis was emptied or holds an older copy, and is silent otherwise", async () => {
    const client = connect(redis.url);
    const other = connect(redis.url);
    const found: string[] = [];
    await new Promise((ready) => client.once("ready", ready));
    const incarnation = new Incarnation(client, TAG, (rollback) => found.push(rollback));
    for (let i = 0; i < 3; i++) await incarnation.beat();
    await new Incarnation(other, TAG, () => found.push("other")).beat();
    await incarnation.beat();
    expect(found).toEqual([]);
    const admin = redis.client();
    await admin.hset(`${TAG}:incarnation`, "beat", 1);
    await incarnation.beat();
    expect(found).toEqual(["older"]);
    await admin.flushall();
    await incarnation.beat();
    expect(found).toEqual(["older", "emptied"]);
    client.disconnect();
    other.disconnect();
  });
});
