import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destinationPolicy, newEvent, routePolicy, settlement } from "../../src/custody/conformance/fixtures.ts";
import type { DestinationPolicy, Outbox, Settle } from "../../src/custody/port.ts";
import { type CustodyClient, connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const DAY_MS = 86_400_000;
const ID = "~acme";

describe("what the store knows of a destination that has nothing any more", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let client: CustodyClient;
  let outbox: Outbox;
  let scope: { readonly instance: string; readonly namespace: string };
  let tag: string;

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    scope = { instance: "default", namespace: randomUUID() };
    tag = tagOf(scope);
    store = new RedisStore({ url: redis.url });
    await store.start();
    client = connect(redis.url, { enableOfflineQueue: true });
    outbox = store.outbox(scope, { policies: () => [] });
  });
  afterEach(() => {
    client.disconnect();
    store.close();
  });

  const gated = destinationPolicy({ destination: ID, gate: { seq: 1 } });
  const bare = destinationPolicy({ destination: ID });
  const accept = () => store.inbox(scope).claim(newEvent({ destinations: [{ destination: ID, limit: 1 }] }));
  const turn = (policy: DestinationPolicy, settles: readonly Settle[], want: number) =>
    outbox.turn({ settles, takes: [{ destination: ID, want, started: 0 }], policies: new Map([[ID, policy]]) });
  /** An event that comes in and has this outcome. */
  const carry = async (policy: DestinationPolicy, outcome: "delivered" | "dead" | "retry", change = {}) => {
    await accept();
    const { copies } = await turn(policy, [], 1);
    await turn(
      policy,
      copies.map((copy) => settlement(copy, outcome, change)),
      0,
    );
    await outbox.done({ destination: ID, generation: 0, slot: 0 }, policy);
  };
  /** The janitor comes by when this is looked at next. */
  const look = async () => {
    await client.del(`${tag}:janitor`);
    await client.zadd(`${tag}:exp`, "XX", 1, `d:${ID}`);
    await new Janitor(client, tag, { policies: () => [routePolicy()] }).pass();
  };
  const isKnown = async () => {
    const listed = await client.zscore(`${tag}:destinations`, ID);
    const gate = await client.exists(`${tag}:gate:${ID}`);
    expect(listed !== null).toBe(gate === 1);
    return gate === 1;
  };
  /** Lets its last sign of life lie further back. */
  const idleFor = async (ms: number) => {
    await client.hset(`${tag}:gate:${ID}`, "delivered", Date.now() - ms);
  };

  test("goes a month after the last sign of it, and comes back with the next event", async () => {
    await carry(gated, "delivered");
    await look();
    expect(await isKnown()).toBe(true);
    await idleFor(29 * DAY_MS);
    await look();
    expect(await isKnown()).toBe(true);
    await idleFor(31 * DAY_MS);
    await look();
    expect(await isKnown()).toBe(false);
    expect(await client.zscore(`${tag}:exp`, `d:${ID}`)).toBeNull();
    await carry(gated, "delivered");
    expect(await isKnown()).toBe(true);
    expect((await store.ledger(scope).gate(ID)).config).toMatchObject({ seq: 1 });
  });

  test("goes once its dead letters are gone, where no WebhookDestination ever had the id", async () => {
    await carry(bare, "dead");
    await look();
    expect(await isKnown()).toBe(true);
    await client.del(`${tag}:dead:${ID}`);
    await look();
    expect(await isKnown()).toBe(false);
  });

  test("stays while anything waits for it, and while it is disabled or held", async () => {
    await carry(gated, "retry", { delayMs: 3_600_000 });
    await idleFor(31 * DAY_MS);
    await look();
    expect(await isKnown()).toBe(true);
    await client.del(`${tag}:due:${ID}`);
    await store.ledger(scope).hold(ID, Date.now() + DAY_MS);
    await look();
    expect(await isKnown()).toBe(true);
    await carry(gated, "dead", { gate: { type: "gone", generation: 1 } });
    await store.ledger(scope).enable(ID);
    await carry(gated, "dead", { gate: { type: "gone", generation: 2 } });
    expect((await store.ledger(scope).gate(ID)).state).toBe("Disabled");
    await client.del(`${tag}:dead:${ID}`);
    const state = (await client.hget(`${tag}:gate:${ID}`, "st")) ?? "";
    await client.hset(`${tag}:gate:${ID}`, "st", state.replaceAll(/\d{13}/g, "1"));
    await idleFor(400 * DAY_MS);
    await look();
    expect(await isKnown()).toBe(true);
  });
});
