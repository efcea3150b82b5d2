import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  destinationPolicy,
  mark,
  newEvent,
  routePolicy,
  settle,
  settlement,
  SHORT_LEASE_TIMEOUT_MS,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import type { Outbox, TakenCopy, TurnRequest } from "../../src/custody/port.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { Secret } from "../../src/lib/secret.ts";
import { startCutProxy } from "../support/cut-proxy.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

/** What a Redis that is frozen, full, read-only or without replicas does to custody. */
describe("custody when Redis fails", () => {
  let redis: TestRedis;
  let store: RedisStore;
  const stops: (() => Promise<void>)[] = [];
  const scope = { instance: "default", namespace: "shop" };
  const tag = tagOf(scope);

  beforeEach(async () => {
    redis = await startRedis();
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(async () => {
    redis.thaw();
    for (const stop of stops.splice(0)) await stop();
    store.close();
    await redis.stop();
  });

  const code = (promise: Promise<unknown>) =>
    promise.then(
      () => "no error",
      (error: { code?: string }) => error.code,
    );
  const until = async (met: () => boolean | Promise<boolean>, ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
    return false;
  };
  /** Drains as a worker does, until stopped. */
  const drain = async (outbox: Outbox, seen: string[]) => {
    const policy = destinationPolicy();
    stops.push(
      await outbox.start({
        onHint: () => undefined,
        onTicket: async (ticket) => {
          let started: number | undefined = ticket.generation;
          do {
            const takes = [{ destination: policy.destination, want: 16, ...(started !== undefined && { started }) }];
            const { copies } = await outbox.turn({
              settles: [],
              takes,
              policies: new Map([[policy.destination, policy]]),
            });
            started = undefined;
            seen.push(...copies.map(({ eventId }) => eventId));
            await settle(
              outbox,
              copies.map((copy) => settlement(copy, "delivered")),
            );
          } while ((await outbox.done(ticket, policy)) === "more");
        },
      }),
    );
  };

  test("a frozen one is told within 2.5 s, and the repeat is a duplicate or new, never both", async () => {
    const inbox = store.inbox(scope);
    redis.freeze();
    const began = performance.now();
    const event = newEvent({ mark: mark("frozen") });
    expect(await code(inbox.claim(event))).toBe("Timeout");
    expect(performance.now() - began).toBeLessThan(2_500);
    redis.thaw();
    await until(async () => (await code(inbox.claim(newEvent({ mark: mark("frozen") })))) === "no error", 5_000);
    expect(await take(store.outbox(scope, { policies: () => [] }))).toHaveLength(1);
  });

  test("a nonce whose claim got no answer is still good for its body, and for no other", async () => {
    const inbox = store.inbox(scope);
    const nonceOf = (body: string) => ({
      key: Buffer.alloc(16, 7),
      bodyHash: createHash("sha256").update(body).digest().subarray(0, 16),
      windowMs: 60_000,
    });
    const event = newEvent({ mark: mark("nonce"), nonce: nonceOf("one") });
    redis.freeze();
    expect(await code(inbox.claim(event))).toBe("Timeout");
    redis.thaw();
    await until(
      async () => (await code(inbox.claim(newEvent({ mark: mark("nonce"), nonce: nonceOf("one") })))) === "no error",
      5_000,
    );
    expect(await take(store.outbox(scope, { policies: () => [] }))).toHaveLength(1);
    expect(await inbox.claim(newEvent({ mark: mark("other"), nonce: nonceOf("two") }))).toMatchObject({
      outcome: "reused",
    });
  });

  test("a nonce is kept over a crash, as its event is", async () => {
    const nonceOf = (fill: number) => ({
      key: Buffer.alloc(16, 7),
      bodyHash: Buffer.alloc(16, fill),
      windowMs: 60_000,
    });
    await store.inbox(scope).claim(newEvent({ nonce: nonceOf(1) }));
    await redis.kill9();
    await redis.restart();
    const outcomes: string[] = [];
    await until(async () => {
      const claim = await store
        .inbox(scope)
        .claim(newEvent({ nonce: nonceOf(2) }))
        .catch(() => undefined);
      outcomes.push(...(claim ? [claim.outcome] : []));
      return claim !== undefined;
    }, 5_000);
    expect(outcomes).toEqual(["reused"]);
  });

  test("a secret of a handshake is confirmed only when it is kept", async () => {
    const kept = {
      route: "00000000000000aa",
      at: Date.now(),
      client: "192.0.2.7",
      kind: "hook-secret",
      value: Secret.of("hush"),
    } as const;
    redis.freeze();
    expect(await code(store.inbox(scope).keep(kept))).toBe("Timeout");
    redis.thaw();
    await until(async () => (await code(store.inbox(scope).keep(kept))) === "no error", 5_000);
    await redis.kill9();
    await redis.restart();
    await until(async () => (await code(store.ledger(scope).handshakes(kept.route))) === "no error", 5_000);
    expect(await store.ledger(scope).handshakes(kept.route)).toHaveLength(1);
    await redis.client().call("CONFIG", "SET", "maxmemory", "1mb");
    expect(await code(store.inbox(scope).keep({ ...kept, at: Date.now() + 1 }))).toBe("OutOfMemory");
  });

  test("what waits behind unanswered batches is refused with them, and not written later", async () => {
    const inbox = store.inbox(scope);
    redis.freeze();
    const began = performance.now();
    const claims: Promise<unknown>[] = [];
    for (let batch = 0; batch < 3; batch++) {
      claims.push(code(inbox.claim(newEvent({ mark: mark(`batch ${batch}`) }))));
      await sleep(20);
    }
    expect(await Promise.all(claims)).toEqual(["Timeout", "Timeout", "Unreachable"]);
    expect(performance.now() - began).toBeLessThan(2_500);
    redis.thaw();
    await until(async () => (await code(inbox.claim(newEvent({ mark: mark("after") })))) === "no error", 5_000);
    expect(await inbox.claim(newEvent({ mark: mark("batch 2") }))).toMatchObject({ outcome: "new" });
  });

  test("a turn that was sent twice because its connection broke says so, and adopting returns what the lost answer held", async () => {
    const proxy = await startCutProxy(redis.port);
    const cut = new RedisStore({ url: proxy.url });
    try {
      await cut.start();
      const outbox = cut.outbox(scope, { policies: () => [] });
      for (let i = 0; i < 4; i++) await cut.inbox(scope).claim(newEvent());
      const policy = destinationPolicy();
      const policies = new Map([[policy.destination, policy]]);
      const turnFor = (want: number, adopt?: TurnRequest["adopt"]) =>
        outbox.turn({
          settles: [],
          takes: [{ destination: policy.destination, want }],
          policies,
          ...(adopt && { adopt }),
        });
      expect(await turnFor(0)).not.toHaveProperty("repeated");
      proxy.loseNextScriptAnswer();
      const turn = await turnFor(2);
      expect(turn).toMatchObject({ repeated: true });
      expect(turn.copies).toHaveLength(2);
      const inFlight = turn.copies.map(({ eventId, fence }) => ({ eventId, fence }));
      const adopt = new Map([[policy.destination, inFlight]]);
      const next = await turnFor(9, adopt);
      expect(next.copies.map(({ attempt }) => attempt)).toEqual([1, 1]);
    } finally {
      cut.close();
      await proxy.stop();
    }
  });

  test("a dead one is told at once and found again by itself", async () => {
    await redis.kill9();
    const began = performance.now();
    expect(await code(store.inbox(scope).claim(newEvent()))).toBe("Unreachable");
    expect(performance.now() - began).toBeLessThan(2_500);
    expect(await until(() => !store.health().up, 4_000)).toBe(true);
    await redis.restart();
    expect(await until(() => store.health().up, 5_000)).toBe(true);
    expect(await code(store.inbox(scope).claim(newEvent()))).toBe("no error");
  });

  test("a read-only one refuses the claim, and nothing is half-written", async () => {
    const admin = redis.client();
    await admin.call("REPLICAOF", "127.0.0.1", "1");
    expect(await code(store.inbox(scope).claim(newEvent({ mark: mark("ro") })))).toMatch(
      /ReadOnly|Unreachable|Loading/,
    );
    expect(await until(() => !store.health().up, 3_000)).toBe(true);
    await admin.call("REPLICAOF", "NO", "ONE");
    expect(await admin.keys("*")).toEqual([]);
    expect(
      await until(
        async () => (await code(store.inbox(scope).claim(newEvent({ mark: mark("ro") })))) === "no error",
        5_000,
      ),
    ).toBe(true);
  });

  test("one without its replicas refuses the claim, and takes outcomes once they are back", async () => {
    const admin = redis.client();
    const outbox = store.outbox(scope, { policies: () => [] });
    await store.inbox(scope).claim(newEvent());
    const [copy] = await take(outbox);
    await admin.config("SET", "min-replicas-to-write", "1");
    expect(await code(store.inbox(scope).claim(newEvent()))).toBe("NoReplicas");
    expect(await code(settle(outbox, [settlement(copy as TakenCopy, "delivered")]))).toBe("NoReplicas");
    await admin.config("SET", "min-replicas-to-write", "0");
    expect(await settle(outbox, [settlement(copy as TakenCopy, "delivered")])).toEqual([]);
  });

  test("a replica that does not confirm refuses the acknowledgement", async () => {
    const replica = await startRedis({ args: ["--replicaof", "127.0.0.1", String(redis.port)] });
    const careful = new RedisStore({ url: redis.url, replicas: 1 });
    try {
      await careful.start();
      const admin = redis.client();
      await until(async () => (await admin.info("replication")).includes("state=online"), 10_000);
      const inbox = careful.inbox(scope);
      expect(await inbox.claim(newEvent({ mark: mark("waited") }))).toMatchObject({ outcome: "new" });
      replica.freeze();
      expect(await code(inbox.claim(newEvent({ mark: mark("lonely") })))).toBe("NoReplicas");
      replica.thaw();
      // The write itself stood: the sender's repeat is a duplicate, and that answer waits for the replica like a new one.
      expect(await inbox.claim(newEvent({ mark: mark("lonely") }))).toMatchObject({ outcome: "duplicate" });
    } finally {
      replica.thaw();
      careful.close();
      await replica.stop();
    }
  });

  test("a full one refuses claims and still lets copies be settled and taken", async () => {
    const admin = redis.client();
    const outbox = store.outbox(scope, { policies: () => [] });
    for (let i = 0; i < 3; i++) await store.inbox(scope).claim(newEvent());
    const [copy] = await take(outbox, destinationPolicy(), 1);
    await admin.config("SET", "maxmemory", "1mb");
    expect(await code(store.inbox(scope).claim(newEvent()))).toBe("OutOfMemory");
    expect(await settle(outbox, [settlement(copy as TakenCopy, "delivered")])).toEqual([]);
    expect(await take(outbox)).toHaveLength(2);
    expect(await until(() => store.health().memoryRatio > 1, 3_000)).toBe(true);
  });

  test("a full one is drained although BullMQ cannot hand out tickets", async () => {
    const admin = redis.client();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await store.inbox(scope).claim(newEvent())).id);
    await admin.config("SET", "maxmemory", "1mb");
    const seen: string[] = [];
    await drain(store.outbox(scope, { policies: () => [routePolicy()] }), seen);
    expect(await until(() => seen.length === 5, 10_000)).toBe(true);
    expect(seen.toSorted()).toEqual(ids.toSorted());
    await admin.config("SET", "maxmemory", "512mb");
    await until(() => store.health().memoryRatio < 0.5, 3_000);
    const { id } = await store.inbox(scope).claim(newEvent());
    expect(await until(() => seen.includes(id), 10_000), "tickets work again").toBe(true);
  });

  test("tickets deleted by hand are written anew", async () => {
    const admin = redis.client();
    const seen: string[] = [];
    for (let i = 0; i < 3; i++) await store.inbox(scope).claim(newEvent());
    await admin.publish(`${tag}:hint`, "0#0#0#nowhere");
    const other = store.outbox(scope, { policies: () => [routePolicy()] });
    let held = false;
    // This worker takes the ticket and never comes back, as a killed one would.
    const stop = await other.start({
      onHint: () => undefined,
      onTicket: () => {
        held = true;
        return new Promise(() => undefined);
      },
    });
    expect(await until(() => held, 5_000)).toBe(true);
    void stop();
    for (const key of await admin.keys(`${tag}:tickets-*`)) await admin.del(key);
    await drain(store.outbox(scope, { policies: () => [routePolicy()] }), seen);
    expect(await until(() => seen.length === 3, 8_000)).toBe(true);
  });

  test("one bad entry of a batch does not refuse the others", async () => {
    const admin = redis.client();
    const [good, bad] = [newEvent(), newEvent()];
    await admin.set(`${tag}:e:${bad.id}`, "not a hash");
    const inbox = store.inbox(scope);
    const results = await Promise.all([
      inbox.claim(good),
      code(inbox.claim({ ...bad, mark: mark("bad") })),
      inbox.claim(newEvent()),
    ]);
    expect(results).toMatchObject([{ outcome: "new", id: good.id }, "Script", { outcome: "new" }]);
    expect(await take(store.outbox(scope, { policies: () => [] }))).toHaveLength(2);
  });

  test("a destination whose keys were overwritten keeps its ticket only, and not those that end with it", async () => {
    const [good, bad, last] = ["~good", "~bad", "~last"];
    await redis.client().set(`${tag}:lane:${bad}`, "not a sorted set");
    const outbox = store.outbox(scope, { policies: () => [] });
    const ended = [good, bad, last].map((destination) =>
      code(outbox.done({ destination, generation: 0, slot: 0 }, destinationPolicy({ destination }))),
    );
    expect(await Promise.all(ended)).toEqual(["no error", "Script", "no error"]);
    const generations = [good, bad, last].map((id) => redis.client().hget(`${tag}:gate:${id}`, "g"));
    expect(await Promise.all(generations), "each ends once").toEqual(["1", null, "1"]);
  });

  test("a record that only a newer reader may read, or that lost its metadata, is left alone and holds up nothing", async () => {
    const inbox = store.inbox(scope);
    const admin = redis.client();
    const [newer, broken, plain] = [newEvent(), newEvent(), newEvent()];
    for (const event of [newer, broken, plain]) await inbox.claim(event);
    const record = `${tag}:e:${newer.id}`;
    const meta = (await admin.hget(record, "m")) ?? "";
    await admin.hset(record, "m", meta.replace(/^1 1 /, "2 2 "), "c:anything", "in a form of the future");
    await admin.hdel(`${tag}:e:${broken.id}`, "m");
    const outbox = store.outbox(scope, { policies: () => [] });
    expect((await take(outbox)).map(({ eventId }) => eventId)).toEqual([plain.id]);
    expect(await take(outbox)).toHaveLength(0);
    expect(await admin.hget(record, "m")).toMatch(/^2 2 /);
    expect(await admin.zscore(`${tag}:due:${destinationPolicy().destination}`, newer.id)).not.toBeNull();
  });

  test.each([
    [
      "only a newer reader may read",
      "kept",
      (admin: Redis, key: string) => admin.hset(key, "m", "2 2 of another form"),
    ],
    ["was overwritten by hand", "dropped", async (admin: Redis, key: string) => admin.set(key, "not a hash")],
  ])("a record that %s stops neither ingest nor the janitor, and its lease is %s", async (_name, fate, spoil) => {
    const policy = routePolicy({ retention: { ...routePolicy().retention, maxEvents: 1 } });
    const destination = destinationPolicy({ policy, timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    const inbox = store.inbox(scope);
    const outbox = store.outbox(scope, { policies: () => [] });
    const admin = redis.client();
    const { id } = await inbox.claim(newEvent({ policy, mark: mark("spoilt") }));
    await take(outbox, destination);
    await spoil(admin, `${tag}:e:${id}`);
    for (let i = 0; i < 3; i++) expect(await inbox.claim(newEvent({ policy }))).toMatchObject({ outcome: "new" });
    expect(await inbox.claim(newEvent({ policy, mark: mark("spoilt") }))).toEqual({ outcome: "duplicate", id });

    expect(await keptEvents(store.operations(scope), policy.route)).toHaveLength(3);

    await admin.zadd(`${tag}:exp`, 1, id, 1, `r:${policy.route}`);
    await admin.zadd(`${tag}:busy`, 1, destination.destination);
    const tickets: string[] = [];
    const client = connect(redis.url, { enableOfflineQueue: true });
    const janitor = new Janitor(client, tag, { policies: () => [policy] });
    janitor.start(async (missing) => void tickets.push(...missing.map((one) => one.destination)));
    await janitor.pass();
    janitor.stop();
    client.disconnect();
    expect(tickets).toEqual([destination.destination]);

    await sleep(150);
    await take(outbox, destination, 0);
    await sleep(2_100);
    expect(await take(outbox, destination, 0)).toEqual([]);
    const lease = await admin.zscore(`${tag}:lease:${destination.destination}`, id);
    expect(lease === null ? "dropped" : "kept").toBe(fate);
    expect((await store.ledger(scope).stats([destination.destination])).get(destination.destination)).toMatchObject({
      waiting: 3,
    });
  });

  test("a record that was overwritten by hand does not hold up its destination", async () => {
    const admin = redis.client();
    const [bad, good] = [await store.inbox(scope).claim(newEvent()), await store.inbox(scope).claim(newEvent())];
    await admin.set(`${tag}:e:${bad.id}`, "not a hash");
    const copies = await take(store.outbox(scope, { policies: () => [] }));
    expect(copies.map(({ eventId }) => eventId)).toEqual([good.id]);
  });

  test.each([
    ["appendonly", "no"],
    ["appendfsync", "everysec"],
    ["no-appendfsync-on-rewrite", "yes"],
    ["maxmemory-policy", "allkeys-lru"],
    ["maxmemory", "0"],
  ])("is not durable with %s %s, and says what to set", async (name, value) => {
    expect(store.health().durable).toEqual({ ok: true, source: "verified", problems: [] });
    await redis.client().config("SET", name, value);
    const later = new RedisStore({ url: redis.url });
    const { durable } = await later.start();
    later.close();
    expect(durable.ok).toBe(false);
    expect(durable.problems.join()).toContain(`${name} ${value}`);
  });

  test("is not durable while its first append-only file is being written, and stays durable through later rewrites", async () => {
    const slow = await startRedis({
      durable: false,
      args: ["--appendfsync", "always", "--rdb-key-save-delay", "2000"],
    });
    try {
      const admin = slow.client();
      await admin.mset(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, "x"])));
      await admin.config("SET", "appendonly", "yes");
      const first = new RedisStore({ url: slow.url });
      stops.push(async () => first.close());
      expect((await first.start()).durable.problems.join()).toContain("first append-only file");
      expect(await until(() => first.health().durable.ok, 15_000)).toBe(true);
      await admin.bgrewriteaof();
      await sleep(1_200);
      expect((await admin.info("persistence")).includes("aof_rewrite_in_progress:1")).toBe(true);
      expect(first.health().durable.ok).toBe(true);
      await until(async () => (await admin.info("persistence")).includes("aof_rewrite_in_progress:0"), 15_000);
      await admin.config("SET", "appendonly", "no");
      expect(await until(() => !first.health().durable.ok, 15_000)).toBe(true);
      await admin.config("SET", "appendonly", "yes");
      await sleep(1_200);
      expect((await admin.info("persistence")).includes("aof_rewrite_in_progress:1")).toBe(true);
      expect(first.health().durable.problems.join(), "switched off and on: a first file again").toContain(
        "first append-only",
      );
    } finally {
      await slow.stop();
    }
  });

  test("a fresh one stays durable through the first rewrite of its file", async () => {
    const admin = redis.client();
    await admin.mset(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, "x"])));
    await admin.config("SET", "rdb-key-save-delay", "2000");
    await admin.bgrewriteaof();
    await sleep(1_200);
    expect((await admin.info("persistence")).includes("aof_rewrite_in_progress:1")).toBe(true);
    expect(store.health().durable).toEqual({ ok: true, source: "verified", problems: [] });
  });

  test("a store that is allowed to be volatile says so", async () => {
    await redis.client().config("SET", "appendonly", "no");
    const play = new RedisStore({ url: redis.url, durability: "allowVolatile" });
    expect((await play.start()).durable).toEqual({ ok: true, source: "volatile", problems: [] });
    play.close();
  });

  test("a delivery costs at most 3 KB while it is queued", async () => {
    const admin = redis.client();
    const used = async () => Number(/used_memory:(\d+)/.exec(await admin.info("memory"))?.[1]);
    const inbox = store.inbox(scope);
    const before = await used();
    const count = 2_000;
    const event = () => newEvent({ body: Buffer.alloc(1_024, 120), mark: mark(randomUUID()) });
    await Promise.all(Array.from({ length: count }, () => inbox.claim(event())));
    expect(((await used()) - before) / count).toBeLessThan(3_072);
  });
});
