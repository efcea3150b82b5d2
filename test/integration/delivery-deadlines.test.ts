import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { newEvent } from "../../src/custody/conformance/fixtures.ts";
import type { CopyView } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import type { RetryPolicy } from "../../src/routes/entry.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 40_000, interval: 20 });
const ID = "~acme";
const HOUR_MS = 3_600_000;
const BOUNDS = { giveUpAfterMs: HOUR_MS, maxRetryAfterMs: HOUR_MS, maxAgeMs: HOUR_MS };
const schedule = (delaysMs: readonly number[], bounds: Partial<typeof BOUNDS> = {}): RetryPolicy => ({
  type: "schedule",
  delaysMs,
  jitter: 0,
  ...BOUNDS,
  ...bounds,
});
const FINAL: ReadonlySet<string> = new Set(["delivered", "dead", "expired"]);

describe("a worker, a receiver and the deadlines of a copy", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  async function listen(answer: (n: number, response: ServerResponse) => void): Promise<string> {
    let n = 0;
    const server = createServer((request, response) => {
      request.resume();
      n += 1;
      answer(n, response);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }

  /** One event, and a worker that can be started when the test wants it. */
  async function start(retry: RetryPolicy, answer: (n: number, response: ServerResponse) => void) {
    const url = await listen(answer);
    const plain = workerDestination({ id: ID, target: { type: "http", url }, timeoutMs: 5_000, concurrency: 1, retry });
    const circuit = { consecutiveFailures: 50, openMs: 100, maxOpenMs: 100 };
    const destination = { ...plain, policy: { ...plain.policy, gate: { seq: 1, circuit } } };
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    cleanups.push(() => store.close());
    const sender = loopbackSender();
    cleanups.push(() => sender.close());
    const { policy } = destination.policy;
    const { id } = await store.inbox(scope).claim(newEvent({ policy, destinations: [{ destination: ID, limit: 1 }] }));
    const work = async (): Promise<Worker> => {
      const worker = new Worker({
        outbox: store.outbox(scope, { policies: () => [policy] }),
        attempt: createHttpAttempt(sender),
        destinations: new Map([[ID, destination]]),
      });
      await worker.start();
      cleanups.push(() => worker.stop());
      return worker;
    };
    const ledger = store.ledger(scope);
    const copy = async (): Promise<CopyView | undefined> => (await ledger.event(id))?.copies[0];
    /** Its log, once nothing more can come of it. */
    const end = async (): Promise<CopyView> => {
      let last: CopyView | undefined;
      await until(async () => {
        last = await copy();
        expect(FINAL.has(last?.state ?? "")).toBe(true);
      });
      if (last === undefined) throw new Error("the event is gone");
      return last;
    };
    return { work, copy, end, ledger, shelves: store.shelves(scope), route: policy.route };
  }

  const say = (status: number, retryAfter?: string) => (_n: number, response: ServerResponse) =>
    void response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter });
  const actions = ({ attempts }: CopyView) => attempts.map(({ action }) => action);

  it("ends dead after its attempts when it is always answered 429 with Retry-After: 1, a second apart", async () => {
    const { work, end } = await start(schedule([100, 100, 100]), say(429, "1"));
    await work();
    const copy = await end();
    expect(copy.state).toBe("dead");
    expect(actions(copy)).toEqual(["retry", "retry", "retry", "dead"]);
    expect(copy.attempts.at(-1)?.reason).toBe("AttemptsExhausted");
    const gaps = copy.attempts.slice(1).map(({ at }, place) => at - (copy.attempts[place]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  });

  it.each(["0", "-1", "1.5", "120junk", "Thu, 15 Jan 2015 11:00:00 GMT"])(
    "goes by its schedule, has one attempt more than that, and holds nothing when it is answered Retry-After: %s",
    async (hint) => {
      const { work, end, ledger } = await start(schedule([150, 150]), say(503, hint));
      await work();
      const copy = await end();
      expect(copy.attempts.map(({ action, delayMs, delaySource }) => [action, delayMs, delaySource])).toEqual([
        ["retry", 150, "schedule"],
        ["retry", 150, "schedule"],
        ["dead", undefined, undefined],
      ]);
      const gaps = copy.attempts.slice(1).map(({ at }, place) => at - (copy.attempts[place]?.at ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(150);
      expect(await ledger.gate(ID)).toMatchObject({ state: "Closed", generation: 0 });
    },
  );

  it("waits for a date in Retry-After", async () => {
    const { work, end } = await start(schedule([100]), (n, response) => {
      if (n === 1) response.writeHead(429, { "retry-after": new Date(Date.now() + 4_000).toUTCString() });
    });
    await work();
    const copy = await end();
    expect(actions(copy)).toEqual(["retry", "delivered"]);
    const [first, second] = copy.attempts;
    expect(first).toMatchObject({ delaySource: "retry_after" });
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(first?.delayMs ?? Infinity);
    expect(first?.delayMs).toBeGreaterThan(100);
  });

  it.each(["Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999"])(
    "is asked again in 7 days at the latest, its destination in 5 minutes, when it is answered Retry-After: %s",
    async (hint) => {
      const { work, copy, ledger } = await start(schedule([100], { maxRetryAfterMs: 720 * HOUR_MS }), say(429, hint));
      await work();
      await until(async () => expect((await copy())?.state).toBe("delayed"));
      expect((await copy())?.attempts).toMatchObject([{ delayMs: 604_800_000, delaySource: "retry_after" }]);
      const gate = await ledger.gate(ID);
      expect(gate).toMatchObject({ state: "Held", reason: "RetryAfter" });
      expect((gate.until ?? 0) - (gate.changedAt ?? 0)).toBe(300_000);
    },
  );

  it("gives up when the next attempt would come after giveUpAfter", async () => {
    const { work, end } = await start(schedule([1_500, 1_500, 1_500], { giveUpAfterMs: 2_500 }), say(500));
    await work();
    const copy = await end();
    expect(copy).toMatchObject({ state: "dead", attempts: [{ action: "retry" }, { reason: "GiveUpAfter" }] });
  });

  it("has its deadline moved by a Retry-After that ends later, by that and one attempt", async () => {
    const { work, end } = await start(schedule([100, 100], { giveUpAfterMs: 400 }), (n, response) => {
      if (n === 1) response.writeHead(429, { "retry-after": "1" });
      else response.writeHead(500);
    });
    await work();
    const copy = await end();
    expect(copy.attempts).toMatchObject([
      { action: "retry", delayMs: 1_000, delaySource: "retry_after" },
      { action: "dead", status: 500, reason: "GiveUpAfter" },
    ]);
  });

  it("does not come nearer to giveUpAfter in a lane, nor on a shelf", async () => {
    // The delays leave half of it for a busy machine; lane and shelf would each use it up.
    const giveUpAfterMs = 6_000;
    const policy = schedule([1_500, 1_500, 100], { giveUpAfterMs });
    const { work, copy, end, shelves, route } = await start(policy, (n, response) => {
      if (n < 4) response.writeHead(500);
    });
    const worker = await work();
    await until(async () => expect((await copy())?.state).toBe("delayed"));
    await worker.stop();
    await sleep(giveUpAfterMs);
    await work();
    const twice = { state: "delayed", attempts: [{ action: "retry" }, { action: "retry" }] };
    await until(async () => expect(await copy()).toMatchObject(twice));
    expect(await shelves.shelve({ route, name: "orders", namespaceUid: "uid-1" })).toMatchObject({ shelved: 1 });
    await sleep(giveUpAfterMs);
    await shelves.unshelve(route);
    const last = await end();
    expect(actions(last)).toEqual(["retry", "retry", "retry", "delivered"]);
  });

  it("expires at maxAge, however many attempts it has left", async () => {
    const { work, end } = await start(schedule([4_200, 60_000], { maxAgeMs: 4_000 }), say(500));
    await work();
    const copy = await end();
    expect(copy.state).toBe("expired");
    expect(actions(copy)).toEqual(["retry"]);
  });
});
