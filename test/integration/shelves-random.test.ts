import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
} from "../../src/custody/conformance/fixtures.ts";
import type { Outbox, TakenCopy } from "../../src/custody/port.ts";
import { connect } from "../../src/custody/redis/connection.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisShelves, ShelfDirectory } from "../../src/custody/redis/shelves.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const OLD = "00000000000000aa";
const NEW = "00000000000000bb";
const SHARED = "~acme";
const STEPS = 400;

/** Mulberry32: the same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe("shelving, taking up and adopting between everything else", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test.each([1, 2, 3])("loses no copy and delivers none twice (run %i)", async (seed) => {
    const next = random(seed);
    const pick = <T>(of: readonly T[]): T => of[Math.floor(next() * of.length)] as T;
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    const client = connect(redis.url, { enableOfflineQueue: true });
    const directory = new ShelfDirectory(client, scope.instance);
    // Steps of one or a few records: whoever shelves may end after any of them.
    const shelves = (page: number) =>
      new RedisShelves(client, tagOf(scope), { directory, namespace: scope.namespace, page });
    const outbox: Outbox = store.outbox(scope, { policies: () => [] });
    const claimed = new Set<string>();
    const delivered: string[] = [];
    const running: TakenCopy[] = [];
    const destinations = [`${OLD}/orders`, `${NEW}/orders`, SHARED];
    const policyOf = (destination: string) =>
      destinationPolicy({
        destination,
        limit: 8,
        policy: routePolicy({ route: destination.startsWith(NEW) ? NEW : OLD }),
      });

    const take = async (destination: string, want: number) => {
      const policy = policyOf(destination);
      const request = { settles: [], takes: [{ destination, want }], policies: new Map([[destination, policy]]) };
      running.push(...(await outbox.turn(request)).copies);
    };
    const end = async (copy: TakenCopy, outcome: "delivered" | "retry" | "dead" | "handedBack") => {
      running.splice(running.indexOf(copy), 1);
      const change = outcome === "retry" ? { delayMs: next() < 0.5 ? 1 : 20 } : {};
      expect(await settle(outbox, [settlement(copy, outcome, change)], policyOf(copy.destination))).toEqual([]);
      if (outcome === "delivered") delivered.push(`${copy.eventId} ${copy.destination.replace(OLD, NEW)}`);
    };
    const actions: (() => Promise<unknown>)[] = [
      async () => {
        const route = pick([OLD, OLD, NEW]);
        const own = { destination: `${route}/orders`, limit: 8 };
        const wanted = pick([[own], [own, { destination: SHARED, limit: 8 }]]);
        const { id } = await store
          .inbox(scope)
          .claim(newEvent({ policy: routePolicy({ route }), destinations: wanted }));
        for (const { destination } of wanted) claimed.add(`${id} ${destination.replace(OLD, NEW)}`);
      },
      () => take(pick(destinations), 1 + Math.floor(next() * 3)),
      async () => {
        const copy = pick(running);
        if (copy) await end(copy, pick(["delivered", "retry", "dead", "handedBack"]));
      },
      async () => {
        const { items } = await store.operations(scope).deadLetters({ limit: 20 });
        const letter = pick(items);
        if (letter) await store.ledger(scope).replay(letter.eventId, letter.destination);
      },
      () => shelves(pick([1, 2, 200])).shelve({ route: pick([OLD, NEW]), name: "x", namespaceUid: "u" }),
      () => shelves(pick([1, 2, 200])).unshelve(pick([OLD, NEW])),
      async () => {
        if (next() < 0.1) await shelves(pick([1, 2])).adopt(OLD, NEW);
      },
    ];
    for (let step = 0; step < STEPS; step++) await pick(actions)();

    while (running.length > 0) await end(running[0] as TakenCopy, "handedBack");
    while ((await shelves(200).adopt(OLD, NEW)).more);
    while ((await shelves(200).unshelve(NEW)).more);
    for (const { eventId } of (await store.operations(scope).deadLetters({ limit: 1_000 })).items) {
      await store.ledger(scope).replay(eventId);
    }
    await sleep(30);
    for (let empty = 0; empty < 3; ) {
      for (const destination of destinations) await take(destination, 8);
      empty = running.length === 0 ? empty + 1 : 0;
      while (running.length > 0) await end(running[0] as TakenCopy, "delivered");
    }
    expect(delivered.toSorted()).toEqual([...claimed].toSorted());
    expect(claimed.size).toBeGreaterThan(30);
    expect(await shelves(200).orphans()).toEqual([]);
    expect(await shelves(200).routes()).toEqual([NEW]);
    client.disconnect();
    store.close();
  });
});
