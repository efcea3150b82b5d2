import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Queue } from "bullmq";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor } from "../../src/custody/redis/janitor.ts";
import { tagOf, ticketQueue } from "../../src/custody/redis/keys.ts";
import { RedisStore, type OutboxOptions } from "../../src/custody/redis/store.ts";
import { type TicketData, ticketsOf } from "../../src/custody/redis/ticket-jobs.ts";
import type { Attempt } from "../../src/delivery/attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const DEDICATED = "00000000000000dd";
const SHARED = "00000000000000aa";

describe("workers of one route beside shared ones", () => {
  let redis: TestRedis;
  let scope: { readonly instance: string; readonly namespace: string };
  const stores: RedisStore[] = [];
  const workers: Worker[] = [];
  const delivered = new Map<string, string[]>();

  beforeEach(async () => {
    redis = await startRedis();
    scope = { instance: "default", namespace: randomUUID() };
    delivered.clear();
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) await worker.stop();
    for (const store of stores.splice(0)) store.close();
    await redis.stop();
  });

  const destinationsOf = (routes: readonly string[]) =>
    new Map(
      routes.flatMap((route) =>
        ["orders", "billing"].map((name) => {
          const policy = routePolicy({ route });
          const destination = workerDestination({ id: `${route}/${name}`, concurrency: 8 });
          return [`${route}/${name}`, { ...destination, policy: { ...destination.policy, policy } }] as const;
        }),
      ),
    );

  /** A worker process with a configuration that can be replaced. */
  const start = async (name: string, routes: readonly string[], dedicatedRoute?: string) => {
    const store = new RedisStore({ url: redis.url });
    stores.push(store);
    await store.start();
    let configured = new Set(routes);
    const options: OutboxOptions = {
      policies: () => [...configured].map((route) => routePolicy({ route })),
      owns: (destination) => configured.has(destination.split("/")[0] ?? ""),
      ...(dedicatedRoute !== undefined && { dedicatedRoute }),
    };
    const attempt: Attempt = async (copy, _destination, context) => {
      if (!context.beforeWrite()) return { type: "notSent" };
      await sleep(20);
      delivered.set(copy.eventId, [...(delivered.get(copy.eventId) ?? []), name]);
      return { type: "handled", durationMs: 20 };
    };
    const outbox = store.outbox(scope, options);
    const worker = new Worker({ outbox, attempt, destinations: destinationsOf(routes) });
    workers.push(worker);
    await worker.start();
    const configure = (next: readonly string[]) => {
      configured = new Set(next);
      worker.update(destinationsOf(next));
    };
    return { worker, configure };
  };

  const claim = async (route: string, count: number, from: RedisStore) => {
    const policy = routePolicy({ route });
    const names = ["orders", "billing"].map((name) => `${route}/${name}`);
    const events = Array.from({ length: count }, (_, n) => ({
      ...newEvent({ policy, destinations: [{ destination: names[n % 2] ?? "", limit: 8 }] }),
    }));
    return (await Promise.all(events.map((event) => from.inbox(scope).claim(event)))).map(({ id }) => id);
  };
  const gateway = async () => {
    const store = new RedisStore({ url: redis.url });
    stores.push(store);
    await store.start();
    return store;
  };
  const until = async (met: () => boolean | Promise<boolean>, ms = 30_000) => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
    return false;
  };
  const ticketsIn = async (dedicatedRoute?: string) => {
    const queue = new Queue(ticketQueue(dedicatedRoute), {
      connection: redis.client({ maxRetriesPerRequest: null }),
      prefix: tagOf(scope),
    });
    const jobs = await queue.getJobs(["waiting", "delayed"]);
    await queue.close();
    return jobs.flatMap((job) => ticketsOf(job.data as TicketData).map(({ destination }) => destination));
  };
  const countBy = (name: string) => [...delivered.values()].filter((by) => by.includes(name)).length;

  test("1,000 waiting events are delivered once each while a route gets workers of its own and gives them up", async () => {
    const store = await gateway();
    const ids = [...(await claim(DEDICATED, 700, store)), ...(await claim(SHARED, 300, store))];
    const shared = await start("shared", [SHARED, DEDICATED]);
    expect(await until(() => countBy("shared") > 150)).toBe(true);

    const own = await start("own", [DEDICATED], DEDICATED);
    shared.configure([SHARED]);
    const before = countBy("own");
    expect(await until(() => countBy("own") > before + 150)).toBe(true);

    shared.configure([SHARED, DEDICATED]);
    await own.worker.stop();
    expect(await until(() => delivered.size === ids.length)).toBe(true);
    await sleep(300);
    expect([...delivered.values()].filter((by) => by.length !== 1)).toEqual([]);
    expect([...delivered.keys()].toSorted()).toEqual(ids.toSorted());
  });

  test("a route's own workers put tickets of shared destinations into the shared queue", async () => {
    const store = await gateway();
    await start("own", [DEDICATED], DEDICATED);
    const [id = ""] = await claim(SHARED, 1, store);
    expect(await until(async () => (await ticketsIn()).length > 0, 8_000)).toBe(true);
    expect(await ticketsIn()).toEqual([`${SHARED}/orders`]);
    expect(delivered.size).toBe(0);
    await start("shared", [SHARED]);
    expect(await until(() => delivered.has(id), 5_000)).toBe(true);
  });

  test("shared workers put tickets of a route with its own workers into that queue, as long as those are there", async () => {
    const store = await gateway();
    const own = await start("own", [DEDICATED], DEDICATED);
    await start("shared", [SHARED]);
    await sleep(1_200);
    own.configure([]);
    await own.worker.stop();
    await claim(DEDICATED, 1, store);
    expect(await until(async () => (await ticketsIn(DEDICATED)).length > 0, 8_000)).toBe(true);
    expect(await ticketsIn(DEDICATED)).toEqual([`${DEDICATED}/orders`]);
  });

  test("a ticket that came to workers without its route goes to those who have it, at once", async () => {
    const store = await gateway();
    const shared = await start("shared", [SHARED, DEDICATED]);
    shared.configure([SHARED]);
    const admin = redis.client({ maxRetriesPerRequest: null });
    await admin.zadd(`${tagOf(scope)}:dedicated`, String(Date.now()), DEDICATED);
    await claim(DEDICATED, 1, store);
    await admin.del(`${tagOf(scope)}:busy`);
    const queue = new Queue(ticketQueue(), { connection: admin, prefix: tagOf(scope) });
    await queue.add("drain", { t: [[`${DEDICATED}/orders`, 7, 0]] }, { jobId: "stray#0#7", removeOnComplete: true });
    await queue.close();
    expect(await until(async () => (await ticketsIn(DEDICATED)).length === 1, 2_500)).toBe(true);
  });

  test("the janitor looks no more at a destination that has nothing", async () => {
    const admin = redis.client();
    await admin.zadd(`${tagOf(scope)}:busy`, 1, `${DEDICATED}/gone`);
    const client = connect(redis.url, { enableOfflineQueue: true });
    const janitor = new Janitor(client, tagOf(scope), { policies: () => [] });
    const tickets: string[] = [];
    janitor.start(async (missing) => void tickets.push(...missing.map((one) => one.destination)));
    await janitor.pass();
    janitor.stop();
    client.disconnect();
    expect(tickets).toEqual([]);
    expect(await admin.zcard(`${tagOf(scope)}:busy`)).toBe(0);
  });

  test("whoever found more than a page of missing tickets goes on at once, and nobody else meanwhile", async () => {
    const store = await gateway();
    const inbox = store.inbox(scope);
    const expected = Array.from({ length: 230 }, (_, at) => `${SHARED}/d${at}`);
    const policy = routePolicy({ route: SHARED });
    await Promise.all(
      expected.map((destination) => inbox.claim(newEvent({ policy, destinations: [{ destination, limit: 1 }] }))),
    );
    const admin = redis.client();
    // Their time has come.
    await admin.zadd(`${tagOf(scope)}:busy`, ...expected.flatMap((destination) => [1, destination]));
    const client = connect(redis.url, { enableOfflineQueue: true });
    const tickets: string[] = [];
    const strangers: string[] = [];
    const janitorFor = (list: string[]) => {
      const janitor = new Janitor(client, tagOf(scope), { policies: () => [] });
      janitor.start(async (missing) => void list.push(...missing.map((one) => one.destination)));
      return janitor;
    };
    const janitor = janitorFor(tickets);
    const pauses = [await janitor.pass()];
    const other = janitorFor(strangers);
    pauses.push(await janitor.pass());
    await other.pass();
    await janitor.pass();
    janitor.stop();
    other.stop();
    client.disconnect();
    expect(tickets.toSorted()).toEqual(expected.toSorted());
    expect(strangers).toEqual([]);
    expect(
      pauses.every((pause) => pause < 1_000),
      "a full page is followed by the next one",
    ).toBe(true);
  });

  test("a postponed ticket of a destination that has nothing ends for good", async () => {
    const store = await gateway();
    const outbox = store.outbox(scope, { policies: () => [] });
    const [waiting = ""] = await claim(DEDICATED, 1, store);
    await outbox.postpone({ destination: `${DEDICATED}/gone`, generation: 0, slot: 0 }, 5_000);
    await outbox.postpone({ destination: `${DEDICATED}/orders`, generation: 0, slot: 0 }, 5_000);
    expect(waiting).not.toBe("");
    expect(await redis.client().zrange(`${tagOf(scope)}:busy`, "0", "-1")).toEqual([`${DEDICATED}/orders`]);
  });

  test("a queue that nobody serves any more can be emptied, and its events come through the other", async () => {
    const store = await gateway();
    const own = await start("own", [DEDICATED], DEDICATED);
    const shared = await start("shared", [SHARED]);
    await sleep(1_200);
    await own.worker.stop();
    const [id = ""] = await claim(DEDICATED, 1, store);
    expect(await until(async () => (await ticketsIn(DEDICATED)).length > 0, 8_000)).toBe(true);
    await store.retireTickets(scope, DEDICATED);
    expect(await ticketsIn(DEDICATED)).toEqual([]);
    shared.configure([SHARED, DEDICATED]);
    expect(await until(() => delivered.has(id), 8_000)).toBe(true);
  });
});
