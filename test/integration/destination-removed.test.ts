import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ROUTE, newEvent, routePolicy } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import type { Attempt } from "../../src/delivery/attempt.ts";
import { WorkerDestinations } from "../../src/delivery/worker-destinations.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const DESTINATION = `${ROUTE}/orders`;

describe("a destination that its route has no more", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let worker: Worker | undefined;
  let metrics: Metrics;
  let scope: { readonly instance: string; readonly namespace: string };
  const delivered: string[] = [];

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    scope = { instance: "default", namespace: randomUUID() };
    store = new RedisStore({ url: redis.url });
    metrics = createMetrics();
    delivered.length = 0;
    await store.start();
  });
  afterEach(async () => {
    await worker?.stop();
    worker = undefined;
    store.close();
  });

  /** Config of a route at a stamp, with the destinations named. */
  const config = (seq: number, names: readonly string[], suspended = false): WorkerDestinations => {
    const destinations = new WorkerDestinations();
    const policy = routePolicy();
    destinations.routes.set(ROUTE, { namespace: "shop", name: "orders", seq, suspended, policy });
    for (const name of names) {
      const destination = workerDestination({ id: `${ROUTE}/${name}`, name, suspended });
      destinations.set(`${ROUTE}/${name}`, { ...destination, policy: { ...destination.policy, policy } });
    }
    return destinations;
  };
  const attempt: Attempt = async (copy, _destination, context) => {
    if (!context.beforeWrite()) return { type: "notSent" };
    delivered.push(copy.eventId);
    return { type: "handled", durationMs: 1 };
  };
  const start = async (destinations: ReadonlyMap<string, never> | WorkerDestinations) => {
    const outbox = store.outbox(scope, { policies: () => [routePolicy()] });
    worker = new Worker({ outbox, attempt, destinations, metrics });
    await worker.start();
    return worker;
  };
  const accept = async (seq: number) =>
    (await store.inbox(scope).claim(newEvent({ seq, destinations: [{ destination: DESTINATION, limit: 4 }] }))).id;
  const copyOf = async (id: string) => (await store.ledger(scope).event(id))?.copies[0];
  const until = async (met: () => boolean | Promise<boolean>, ms = 30_000) => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
    return false;
  };
  const isDead = (id: string) => async () => (await copyOf(id))?.state === "dead";

  test("makes its waiting copies dead letters, which are delivered when they are replayed once it is there again", async () => {
    const ids = [await accept(4), await accept(5)];
    const running = await start(config(5, ["billing"]));
    for (const id of ids) expect(await until(isDead(id))).toBe(true);
    const { items } = await store.operations(scope).deadLetters({ route: ROUTE, limit: 10 });
    expect(items.map(({ failureContext }) => failureContext.lastError)).toEqual([
      "DestinationRemoved",
      "DestinationRemoved",
    ]);
    expect((await store.ledger(scope).body(ids[0] ?? ""))?.toString()).toBe('{"n":1}');
    const counted = await metrics.deadLetters.get();
    expect(counted.values).toMatchObject([
      { value: 2, labels: { namespace: "shop", route: "orders", reason: "DestinationRemoved" } },
    ]);
    running.update(config(6, ["billing", "orders"]));
    await store.ledger(scope).replay(ids[0] ?? "");
    expect(await until(() => delivered.length > 0)).toBe(true);
    expect(delivered).toEqual([ids[0]]);
  });

  test("leaves a copy alone that was accepted under a newer config, and delivers it when that has come", async () => {
    const id = await accept(7);
    const running = await start(config(6, ["billing"]));
    expect(await until(async () => (await copyOf(id))?.state === "delayed")).toBe(true);
    expect(await copyOf(id)).toMatchObject({ attempts: [] });
    running.update(config(7, ["billing", "orders"]));
    expect(await until(() => delivered.includes(id))).toBe(true);
  });

  test("makes it a dead letter after all when the newer config lacks it too", async () => {
    const id = await accept(7);
    const running = await start(config(6, ["billing"]));
    expect(await until(async () => (await copyOf(id))?.state === "delayed")).toBe(true);
    running.update(config(7, []));
    expect(await until(isDead(id))).toBe(true);
  });

  test("leaves copies of a route alone that is not in the config, and of one that is suspended", async () => {
    const id = await accept(1);
    const running = await start(new WorkerDestinations());
    await sleep(1_500);
    expect(await copyOf(id)).toMatchObject({ state: "waiting", attempts: [] });
    running.update(config(9, [], true));
    await sleep(1_500);
    expect(await copyOf(id)).toMatchObject({ state: "waiting", attempts: [] });
    expect(delivered).toEqual([]);
    running.update(config(9, ["orders"]));
    expect(await until(() => delivered.includes(id))).toBe(true);
  });

  test("takes up a destination that is removed while copies of it are on their way", async () => {
    const running = await start(config(1, ["orders"]));
    const first = await accept(1);
    expect(await until(() => delivered.includes(first))).toBe(true);
    running.update(config(2, []));
    const second = await accept(1);
    expect(await until(isDead(second))).toBe(true);
    expect(delivered).toEqual([first]);
  });
});
