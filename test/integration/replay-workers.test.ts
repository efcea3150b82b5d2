import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test, vi } from "vitest";
import { newEvent, settle, settlement, take } from "../../src/custody/conformance/fixtures.ts";
import type { NewEvent } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { Lives } from "../support/mixed/lives.ts";
import { asConfigured, type MixedSettings } from "../support/mixed/settings.ts";
import { startRedis } from "../support/redis.ts";
import { ROUTES } from "../support/shared/settings.ts";

const ID = "~fast-0";
const RATE = 500;
const DEAD = 10_000;
/** Dead letters from before and after the time that is replayed, each. */
const OUTSIDE = 50;
const [POLICY] = ROUTES;
/** ms that the rate may be saved up for, and what one call may go beyond it. */
const SAVED = { ms: 1_000, copies: 100 };
const PROGRAM = new URL("../support/mixed/worker-process.ts", import.meta.url);

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 120_000, interval: 100 });

/** Says 200 to everybody. Keeps `<event> <attempt>` of each request. */
async function startReceiver(): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    requests.push(`${String(request.headers["webhook-id"])} ${String(request.headers["davit-attempt"])}`);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, requests };
}

async function start() {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const receiver = await startReceiver();
  const scope = { instance: "default", namespace: randomUUID() };
  const settings: MixedSettings = {
    redisUrl: redis.url,
    namespace: scope.namespace,
    retryMs: 500,
    destinations: [{ id: ID, temper: "fast", limit: 32, url: receiver.url }],
  };
  const store = new RedisStore({ url: redis.url });
  await store.start();
  cleanups.push(() => store.close());
  const outbox = store.outbox(scope, { policies: () => ROUTES });
  const policy = asConfigured(settings, false).get(ID)?.policy;
  if (policy === undefined || POLICY === undefined) throw new Error("no such destination");
  const event = (): NewEvent => newEvent({ policy: POLICY, destinations: [{ destination: ID, limit: 32 }] });
  const claim = async (): Promise<string> => (await store.inbox(scope).claim(event())).id;

  /** So many events die. Returns their ids. */
  async function die(count: number): Promise<string[]> {
    const ids: string[] = [];
    // Wide open, until the workers come with the gate that they have.
    const { gate: _, ...wide } = { ...policy, limit: 1_000 } as NonNullable<typeof policy>;
    for (let left = count; left > 0; left -= 500) {
      ids.push(...(await Promise.all(Array.from({ length: Math.min(left, 500) }, claim))));
      const copies = await take(outbox, wide, 1_000);
      for (let i = 0; i < copies.length; i += 64) {
        await settle(
          outbox,
          copies.slice(i, i + 64).map((copy) => settlement(copy, "dead")),
          wide,
        );
      }
    }
    return ids;
  }

  function worker(): Lives {
    const life = new Lives(PROGRAM, { MIXED: JSON.stringify(settings) }, () => 0);
    cleanups.push(() => life.end());
    return life;
  }
  return { die, claim, worker, receiver, operations: store.operations(scope), ledger: store.ledger(scope) };
}

test("10,000 dead letters are replayed by time range under live traffic, at their rate, through kill -9 of workers, and each lives once", {
  timeout: 300_000,
}, async () => {
  const { die, claim, worker, receiver, operations, ledger } = await start();
  const before = await die(OUTSIDE);
  await sleep(5);
  const from = Date.now();
  const ids = await die(DEAD);
  const to = Date.now();
  await sleep(5);
  const after = await die(OUTSIDE);
  const { count: total } = await operations.countDeadLetters({ from, to });
  expect(total).toBe(DEAD);

  const first = [worker(), worker(), worker()];
  await Promise.all(first.map((one) => one.start()));
  const traffic = new AbortController();
  const live: string[] = [];
  const flowing = (async () => {
    for (; !traffic.signal.aborted; await sleep(20)) live.push(await claim());
  })();
  const began = Date.now();
  const { replay } = await operations.startReplay({ filter: { from, to }, rate: RATE });
  const seen: { readonly at: number; readonly replayed: number }[] = [];
  const progress = async (): Promise<number> => {
    const { replayed = 0 } = (await operations.replay(replay.id)) ?? {};
    seen.push({ at: Date.now(), replayed });
    return replayed;
  };
  await until(async () => expect(await progress()).toBeGreaterThan(DEAD / 5));
  first[0]?.end();
  const one = await progress();
  await until(async () => expect(await progress()).toBeGreaterThan(one + DEAD / 10));
  // Whoever advances it is among them.
  for (const life of first) life.end();
  const middle = await progress();
  expect(middle).toBeLessThan(DEAD);
  await Promise.all([worker(), worker()].map((life) => life.start()));
  await until(async () => {
    await progress();
    expect(await operations.replay(replay.id)).toMatchObject({ state: "done", total: DEAD, replayed: DEAD });
  });
  traffic.abort();
  await flowing;

  const counts = seen.map(({ replayed }) => replayed);
  expect(counts, "progress only grows").toEqual(counts.toSorted((a, b) => a - b));
  const tooFast = seen.filter(({ at, replayed }) => replayed > ((at - began + SAVED.ms) * RATE) / 1_000 + SAVED.copies);
  expect(tooFast).toEqual([]);

  await until(async () => {
    const { waiting, active, delayed, dead } = (await ledger.stats([ID])).get(ID) ?? {};
    expect({ waiting, active, delayed, dead }).toEqual({ waiting: 0, active: 0, delayed: 0, dead: 2 * OUTSIDE });
  });
  const delivered = new Map<string, number>();
  for (const request of receiver.requests) {
    const [id = ""] = request.split(" ");
    delivered.set(id, (delivered.get(id) ?? 0) + 1);
  }
  expect([...delivered.keys()].toSorted()).toEqual([...ids, ...live].toSorted());
  expect([...before, ...after].filter((id) => delivered.has(id))).toEqual([]);
  expect(new Set(receiver.requests).size, "no attempt was made twice").toBe(receiver.requests.length);
  // Twice only where a worker was killed before it could say so.
  for (const [id, count] of delivered) {
    if (count === 1) continue;
    const copy = (await ledger.event(id))?.copies[0];
    const unknown = copy?.attempts.filter(({ action }) => action === "unknown").length ?? 0;
    expect([id, copy?.state, count <= 1 + unknown]).toEqual([id, "delivered", true]);
  }
});
