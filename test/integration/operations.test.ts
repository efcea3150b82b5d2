import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  DESTINATION,
  ROUTE,
  destinationPolicy,
  mark,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { Janitor, type OperatedCopies } from "../../src/custody/redis/janitor.ts";
import { LogWalker } from "../../src/custody/redis/log-walker.ts";
import { sequencePage } from "../../src/custody/redis/sequence-pages.ts";
import { CursorExpired } from "../../src/custody/operations.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { NamespaceWorker } from "../../src/delivery/namespace-worker.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });
/** A policy that takes a thousand at a time. */
const WIDE = destinationPolicy({ limit: 1_000 });

describe("operations on Redis", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let scope = { instance: "default", namespace: "" };
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    scope = { instance: "default", namespace: randomUUID() };
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
    store.close();
  });

  const outbox = () => store.outbox(scope, { policies: () => [routePolicy()] });
  const operations = () => store.operations(scope);
  /** Takes all there is to take and ends it so. Returns the ids. */
  async function drain(outcome: "dead" | "delivered"): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const copies = await take(outbox(), WIDE, 1_000);
      if (copies.length === 0) return ids;
      ids.push(...copies.map(({ eventId }) => eventId));
      for (let i = 0; i < copies.length; i += 64) {
        const settles = copies.slice(i, i + 64).map((copy) => settlement(copy, outcome));
        await settle(outbox(), settles, WIDE);
      }
    }
  }
  async function dead(count: number): Promise<string[]> {
    for (let left = count; left > 0; left -= 500) {
      await Promise.all(Array.from({ length: Math.min(left, 500) }, () => store.inbox(scope).claim(newEvent())));
    }
    return drain("dead");
  }
  async function janitorProcess(): Promise<ChildProcess> {
    const file = new URL("../support/replay-process.ts", import.meta.url);
    const child = fork(file, [redis.url, tagOf(scope)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    cleanups.push(() => child.kill("SIGKILL"));
    await once(child, "message");
    return child;
  }
  async function kill9(child: ChildProcess): Promise<void> {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  const replayed = async (id: string) => (await operations().replay(id))?.replayed ?? 0;

  test("lists fetch no bodies", async () => {
    const client = connect(redis.url);
    cleanups.push(() => client.disconnect());
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await client.info("stats"))?.[1]);
    const body = Buffer.alloc(200_000, "x");
    await Promise.all(Array.from({ length: 5 }, () => store.inbox(scope).claim(newEvent({ body }))));
    const before = await sent();
    const { items } = await operations().events({ route: ROUTE, limit: 10 });
    const page = await operations().eventsAfter({ route: ROUTE, limit: 10 });
    expect([...items, ...page.items].map(({ bodyBytes }) => bodyBytes)).toEqual(
      Array.from({ length: 10 }, () => 200_000),
    );
    expect((await sent()) - before).toBeLessThan(200_000);
  });

  test("a replay survives kill -9 of whoever advances it, and makes no second live copy", async () => {
    const ids = await dead(900);
    const { replay } = await operations().startReplay({ filter: { route: ROUTE }, rate: 600 });
    const [first, second] = await Promise.all([janitorProcess(), janitorProcess()]);
    await until(async () => expect(await replayed(replay.id)).toBeGreaterThan(50));
    await kill9(first);
    const before = await replayed(replay.id);
    await until(async () => expect(await replayed(replay.id)).toBeGreaterThan(before));
    await kill9(second);
    const middle = await replayed(replay.id);
    expect(middle).toBeLessThan(900);
    await janitorProcess();
    await until(async () => expect(await operations().replay(replay.id)).toMatchObject({ state: "done" }));
    expect(await replayed(replay.id)).toBe(900);
    const taken = await drain("delivered");
    expect(taken.toSorted()).toEqual(ids.toSorted());
  }, 60_000);

  test("a replay finishes under live traffic, each event delivered once, and the workers count it", async () => {
    const base = workerDestination({ id: DESTINATION });
    const destination = { ...base, policy: { ...WIDE, policy: routePolicy() } };
    const ids = await dead(400);
    const seen: string[] = [];
    const metrics = createMetrics();
    const worker = new NamespaceWorker({
      store,
      scope,
      attempt: async ({ eventId }) => {
        seen.push(eventId);
        return { type: "handled", durationMs: 1 };
      },
      destinations: new Map([[DESTINATION, destination]]),
      logger: createLogger("worker", { level: "error" }),
      metrics,
    });
    await worker.start();
    cleanups.push(() => worker.stop());
    const live: string[] = [];
    const replaying = new AbortController();
    const traffic = (async () => {
      while (!replaying.signal.aborted) live.push((await store.inbox(scope).claim(newEvent())).id);
    })();
    const from = 1;
    const { replay } = await operations().startReplay({ filter: { route: ROUTE, from }, rate: 400 });
    await until(async () => expect(await operations().replay(replay.id)).toMatchObject({ state: "done" }));
    replaying.abort();
    await traffic;
    await until(() => expect(seen.length).toBeGreaterThanOrEqual(ids.length + live.length));
    expect(seen.toSorted()).toEqual([...ids, ...live].toSorted());
    await until(async () => {
      const text = await metrics.registry.metrics();
      expect(text).toMatch(/davit_replayed_total\{[^}]+\} 400\n/);
    });
  }, 60_000);

  test("10,000 dead letters are replayed by time range", async () => {
    await dead(10_000);
    const filter = { from: 1, to: Date.now() + 60_000 };
    const { replay } = await operations().startReplay({ filter, rate: 5_000 });
    expect(replay.total).toBe(10_000);
    const none = await operations().deadLetters({ reason: "none", limit: 10 });
    expect(none.items, "a page looks at so many and no more").toEqual([]);
    expect(none.next).toBeDefined();
    const fruitless = await operations().startReplay({ filter: { reason: "none" } });
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    await operations().steerReplay(replay.id, "paused");
    const janitor = new Janitor(client, tagOf(scope), { policies: () => [] });
    await janitor.advanceReplays();
    expect(await operations().replay(fruitless.replay.id)).toMatchObject({
      state: "done",
      scanned: 10_000,
      replayed: 0,
    });
    await operations().steerReplay(replay.id, "running");
    await janitor.advanceReplays();
    expect(await operations().replay(replay.id)).toMatchObject({ state: "done", replayed: 10_000 });
    expect(await operations().countDeadLetters({})).toMatchObject({ count: 0 });
  }, 60_000);

  test("a row among the dead whose copy lives is passed: it never makes a second live copy", async () => {
    const { id } = await store.inbox(scope).claim(newEvent());
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    await client.zadd(`${tagOf(scope)}:dead`, Date.now(), `${id}|${DESTINATION}`);
    const { replay } = await operations().startReplay({ filter: {}, rate: 5_000 });
    await new Janitor(client, tagOf(scope), { policies: () => [] }).advanceReplays();
    expect(await operations().replay(replay.id)).toMatchObject({ state: "done", replayed: 0, scanned: 1 });
    expect(await operations().discard({ filter: {} })).toMatchObject({ copies: 0 });
    expect(await drain("delivered")).toEqual([id]);
  });

  test("one process advances replays at a time", async () => {
    await dead(60);
    const { replay } = await operations().startReplay({ filter: {}, rate: 100 });
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    const [first, second] = ["", ""].map(() => new Janitor(client, tagOf(scope), { policies: () => [] }));
    const advancing = first?.advanceReplays();
    await second?.advanceReplays();
    expect(await operations().replay(replay.id), "the second gave up at once").toMatchObject({ state: "running" });
    await advancing;
    expect(await operations().replay(replay.id)).toMatchObject({ state: "done", replayed: 60 });
  });

  test("a page whose records retention removes while it is read is no silent gap", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await store.inbox(scope).claim(newEvent())).id);
    await drain("delivered");
    const { items } = await operations().eventsAfter({ route: ROUTE, limit: 10 });
    const after = (items[0]?.sequence ?? 0) - 1;
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    const few = routePolicy({ retention: { ...routePolicy().retention, maxEvents: 1 } });
    const read = async (id: string) => {
      // Between the two steps of a page: two events come in, and the oldest go.
      await store.inbox(scope).claim(newEvent({ policy: few }));
      return store.ledger(scope).event(id);
    };
    const walker = new LogWalker(client, `${tagOf(scope)}:`);
    await expect(sequencePage(walker, read, { route: ROUTE, after, limit: 10 })).rejects.toThrow(CursorExpired);
  });

  test("an event that only a newer Davit may read is counted in a page, and left alone", async () => {
    const { id } = await store.inbox(scope).claim(newEvent());
    const other = await store.inbox(scope).claim(newEvent());
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    const key = `${tagOf(scope)}:e:${id}`;
    const newer = (await client.hget(key, "m"))?.replace(/^1 1 /, "9 9 ") ?? "";
    await client.hset(key, "m", newer);
    const page = await operations().eventsAfter({ route: ROUTE, limit: 10 });
    expect(page).toMatchObject({ items: [{ id: other.id }], unreadable: 1, more: false });
    expect(await operations().cancel({ filter: { route: ROUTE } })).toMatchObject({ copies: 1 });
    expect(await client.hget(key, "m")).toBe(newer);
  });

  test("a discarded dead letter is removed for good when its 24 h are over, and counted", async () => {
    const event = newEvent({ mark: mark("m") });
    await store.inbox(scope).claim(event);
    await drain("dead");
    await operations().discard({ eventId: event.id });
    const client = connect(redis.url, { enableOfflineQueue: true });
    cleanups.push(() => client.disconnect());
    const told: OperatedCopies[] = [];
    const round = async () => {
      await client.del(`${tagOf(scope)}:janitor`);
      await new Janitor(client, tagOf(scope), {
        policies: () => [routePolicy()],
        onOperated: (one) => told.push(one),
      }).pass();
    };
    await round();
    expect((await store.ledger(scope).event(event.id))?.bodyBytes, "not yet").toBe(7);
    // 24 h go by.
    await client.zadd(`${tagOf(scope)}:exp`, 1, `b:${event.id}|${DESTINATION}`);
    await round();
    await round();
    expect(told).toEqual([{ what: "discarded", route: ROUTE, copies: 1 }]);
    expect(await operations().restore({ eventId: event.id })).toEqual({ copies: 0, active: 0 });
    const view = await store.ledger(scope).event(event.id);
    expect(view).toMatchObject({ bodyBytes: 0, copies: [{ state: "discarded", attempts: [] }] });
    expect(await client.hlen(`${tagOf(scope)}:live`), "its mark lies where marks of ended events lie").toBe(0);
    expect(await store.inbox(scope).claim(newEvent({ mark: mark("m") }))).toMatchObject({ outcome: "duplicate" });
  });
});
