import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue } from "bullmq";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  DESTINATION,
  ROUTE,
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { tagOf, ticketQueue } from "../../src/custody/redis/keys.ts";
import { RedisShelves, ShelfDirectory } from "../../src/custody/redis/shelves.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const DELETED = { route: ROUTE, name: "orders", namespaceUid: "u" };

describe("shelves while Redis fails", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let scope: { readonly instance: string; readonly namespace: string };
  const clients: ReturnType<typeof connect>[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    scope = { instance: "default", namespace: randomUUID() };
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    store.close();
    await redis.stop();
  });

  const shelvesOf = (page: number) => {
    const client = connect(redis.url, { enableOfflineQueue: true });
    clients.push(client);
    const directory = new ShelfDirectory(client, scope.instance);
    return new RedisShelves(client, tagOf(scope), { directory, namespace: scope.namespace, page });
  };
  const claim = async (count: number) =>
    (await Promise.all(Array.from({ length: count }, () => store.inbox(scope).claim(newEvent())))).map(({ id }) => id);
  const untilUp = async () => {
    for (let waited = 0; !store.health().up && waited < 10_000; waited += 50) await sleep(50);
  };
  /** Calls again until it is done, whatever fails meanwhile. */
  const insist = async (step: () => Promise<{ readonly more: boolean } | undefined>) => {
    for (let failures = 0; failures < 200; ) {
      try {
        if (!(await step())?.more) return;
      } catch {
        failures += 1;
        await sleep(50);
      }
    }
    throw new Error("it does not end");
  };

  test("a server killed in the middle of shelving and of taking up loses no copy", async () => {
    const ids = await claim(1_000);
    const shelves = shelvesOf(5);
    const crash = async () => {
      await sleep(40);
      await redis.kill9();
      await redis.restart();
    };
    await Promise.all([insist(() => shelves.shelve(DELETED)), crash()]);
    expect(await shelves.orphans()).toMatchObject([{ events: 1_000 }]);
    await Promise.all([insist(() => shelves.unshelve(ROUTE)), crash()]);
    await untilUp();
    const worker = store.outbox(scope, { policies: () => [] });
    const policy = destinationPolicy({ limit: 2_000 });
    const taken: string[] = [];
    for (let more = true; more; ) {
      const copies = await take(worker, policy, 500);
      taken.push(...copies.map(({ eventId }) => eventId));
      more = copies.length > 0;
    }
    expect(taken.toSorted()).toEqual(ids.toSorted());
    expect(await shelves.orphans()).toEqual([]);
  });

  test("a server killed in the middle of a purge leaves nothing half removed, and the counts are right", async () => {
    await claim(1_000);
    const shelves = shelvesOf(5);
    await insist(() => shelves.shelve(DELETED));
    let last: unknown;
    const purging = insist(async () => {
      const result = await shelves.purge(ROUTE, 0);
      if (result !== undefined) last = result;
      return result;
    });
    await sleep(40);
    await redis.kill9();
    await redis.restart();
    await purging;
    expect(last).toMatchObject({ records: 1_000, undelivered: 1_000, more: false });
    const left = (await redis.client().keys(`${tagOf(scope)}:*`)).filter((key) => !key.includes("incarnation"));
    expect(left).toEqual([]);
  });

  test("a full server lets shelves be filled and purged", async () => {
    await claim(300);
    await redis.client().config("SET", "maxmemory", "1mb");
    const shelves = shelvesOf(50);
    await insist(() => shelves.shelve(DELETED));
    expect(await shelves.orphans()).toMatchObject([{ events: 300 }]);
    expect(await shelves.purge(ROUTE, 0)).toMatchObject({ records: 300, more: false });
  });

  test("a record that only a newer Davit may read is passed over, kept, and told", async () => {
    const [first = "", second = "", third = ""] = await claim(3);
    const admin = redis.client();
    const key = `${tagOf(scope)}:e:${second}`;
    const meta = (await admin.hget(key, "m")) ?? "";
    await admin.hset(key, "m", meta.replace(/^1 1 /, "2 2 "));
    const shelves = shelvesOf(1);
    expect(await shelves.shelve(DELETED)).toMatchObject({ shelved: 2, more: false });
    expect(await shelves.purge(ROUTE, 0)).toMatchObject({ records: 2, unreadable: 1, more: false });
    expect(await shelves.orphans()).toMatchObject([{ route: ROUTE, records: 1 }]);
    expect(await Promise.all([first, third].map((id) => store.ledger(scope).event(id)))).toEqual([
      undefined,
      undefined,
    ]);
    await admin.hset(key, "m", meta);
    expect(await shelves.shelve(DELETED)).toMatchObject({ shelved: 0 });
    await shelves.unshelve(ROUTE);
    expect((await take(store.outbox(scope, { policies: () => [] }))).map(({ eventId }) => eventId)).toEqual([second]);
  });

  test("a shelved copy that only a newer Davit may read stays on its shelf while the others are taken up", async () => {
    const [, second = ""] = await claim(3);
    const shelves = shelvesOf(1);
    await shelves.shelve(DELETED);
    const admin = redis.client();
    const key = `${tagOf(scope)}:e:${second}`;
    const meta = (await admin.hget(key, "m")) ?? "";
    await admin.hset(key, "m", meta.replace(/^1 1 /, "2 2 "));
    expect(await shelves.unshelve(ROUTE)).toEqual({ unshelved: 2, more: false });
    await admin.hset(key, "m", meta);
    expect(await shelves.unshelve(ROUTE)).toEqual({ unshelved: 1, more: false });
    expect(await shelves.orphans()).toEqual([]);
  });

  test("an adopted record gets a place of its own in the log, so that no page passes one over", async () => {
    const heir = "00000000000000bb";
    const admin = redis.client();
    const sequence = String((Date.now() + 60_000) * 4_096);
    for (const route of [ROUTE, heir]) await admin.hset(`${tagOf(scope)}:route:${route}`, "seq", sequence);
    await claim(3);
    const destinations = [{ destination: `${heir}/orders`, limit: 9 }];
    for (let i = 0; i < 3; i++) {
      await store.inbox(scope).claim(newEvent({ policy: routePolicy({ route: heir }), destinations }));
    }
    await insist(() => shelvesOf(1).adopt(ROUTE, heir));
    const log = await admin.zrange(`${tagOf(scope)}:log:${heir}`, "0", "-1", "WITHSCORES");
    expect(new Set(log.filter((_, index) => index % 2 === 1)).size).toBe(6);
    expect(await shelvesOf(1).shelve({ ...DELETED, route: heir })).toMatchObject({ shelved: 6, more: false });
  });

  test("tickets of a shelved route end and come no more", async () => {
    await claim(200);
    const first = store.outbox(scope, { policies: () => [routePolicy()] });
    const [copy, other] = await take(first, destinationPolicy(), 2);
    if (!copy || !other) throw new Error("nothing taken");
    await settle(first, [settlement(copy, "retry", { delayMs: 2_000 })]);
    // Its `done` leaves a ticket for the time of the retry.
    await first.done({ destination: DESTINATION, generation: 0, slot: 0 }, destinationPolicy({ limit: 1 }));
    await settle(first, [settlement(other, "delivered")]);
    const worker = new Worker({
      outbox: store.outbox(scope, { policies: () => [] }),
      attempt: () => Promise.resolve({ type: "notSent" }),
      destinations: new Map([["00000000000000ee/x", workerDestination()]]),
    });
    await worker.start();
    await insist(() => shelvesOf(200).shelve(DELETED));
    const admin = redis.client({ maxRetriesPerRequest: null });
    const queue = new Queue(ticketQueue(), { connection: admin, prefix: tagOf(scope) });
    const isQuiet = async () => {
      const counts = await queue.getJobCounts("waiting", "active", "delayed");
      return Object.values(counts).every((count) => count === 0) && (await admin.zcard(`${tagOf(scope)}:busy`)) === 0;
    };
    let quiet = false;
    for (const end = performance.now() + 12_000; !quiet && performance.now() < end; await sleep(100))
      quiet = await isQuiet();
    expect(quiet).toBe(true);
    expect(await shelvesOf(200).orphans()).toMatchObject([{ events: 199 }]);
    await queue.close();
    await worker.stop();
  });
});
