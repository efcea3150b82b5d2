import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import type { WorkerDestination } from "../../src/delivery/destinations.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

/** Waits for what must come about, with patience for a busy machine. */
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 5 });

describe("a worker on Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  /** A receiver whose answer a test decides; it remembers event ids. */
  async function receiver(statusOf: (id: string, n: number) => number = () => 200) {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      const id = String(request.headers["webhook-id"]);
      seen.push(id);
      request.resume();
      request.on("end", () => {
        response.statusCode = statusOf(id, seen.filter((other) => other === id).length);
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen };
  }

  async function chain(destination: WorkerDestination) {
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    cleanups.push(() => store.close());
    const inbox = store.inbox(scope);
    const claim = async (count: number): Promise<string[]> => {
      const ids = Array.from({ length: count }, () => randomUUID().replaceAll("-", "").slice(0, 26));
      await Promise.all(
        ids.map((id) =>
          inbox.claim({
            id,
            policy: destination.policy.policy,
            mark: undefined,
            headers: { "content-type": "application/json" },
            body: Buffer.from(JSON.stringify({ id })),
            seq: 1,
            destinations: [{ destination: destination.entry.id, limit: destination.policy.limit }],
          }),
        ),
      );
      return ids;
    };
    const sender = loopbackSender();
    cleanups.push(() => sender.close());
    const worker = async (): Promise<Worker> => {
      const own = new RedisStore({ url: redis.url });
      await own.start();
      cleanups.push(() => own.close());
      const started = new Worker({
        outbox: own.outbox(scope, { policies: () => [destination.policy.policy] }),
        attempt: createHttpAttempt(sender),
        destinations: new Map([[destination.entry.id, destination]]),
      });
      await started.start();
      cleanups.push(() => started.stop());
      return started;
    };
    const stats = async () => (await store.ledger(scope).stats([destination.entry.id])).get(destination.entry.id);
    return { claim, worker, stats, ledger: store.ledger(scope) };
  }

  it("delivers what was claimed before and after it started, each event once", async () => {
    const { url, seen } = await receiver();
    const { claim, worker, stats } = await chain(workerDestination({ target: { type: "http", url } }));
    const before = await claim(300);
    await worker();
    await until(() => expect(seen.length).toBe(300));
    const after = await claim(50);
    await until(() => expect(seen.length).toBe(350));
    expect(new Set(seen)).toEqual(new Set([...before, ...after]));
    await until(async () => expect(await stats()).toMatchObject({ waiting: 0, active: 0, delayed: 0, dead: 0 }));
  });

  it("retries by the schedule, and puts what keeps failing with the dead letters, with what the destination said", async () => {
    const { url, seen } = await receiver((_id, n) => (n < 3 ? 500 : 404));
    const retry = { ...workerDestination().entry.retry, type: "schedule" as const, delaysMs: [100, 150], jitter: 0 };
    const { claim, worker, stats, ledger } = await chain(workerDestination({ target: { type: "http", url }, retry }));
    await worker();
    const [id = ""] = await claim(1);
    await until(async () => expect(await stats()).toMatchObject({ dead: 1 }));
    expect(seen).toEqual([id, id, id]);
    const event = await ledger.event(id);
    expect(event?.copies[0]?.attempts.map(({ action, status }) => [action, status])).toEqual([
      ["retry", 500],
      ["retry", 500],
      ["dead", 404],
    ]);
  });

  it("shares a destination's limit between two workers, and loses nothing when one stops", async () => {
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    const server = createServer((request, response) => {
      most = Math.max(most, ++running);
      setTimeout(() => {
        running -= 1;
        seen.push(String(request.headers["webhook-id"]));
        response.end();
      }, 3);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const { claim, worker } = await chain(workerDestination({ target: { type: "http", url }, concurrency: 5 }));
    const [first] = await Promise.all([worker(), worker()]);
    const ids = await claim(200);
    await until(() => expect(seen.length).toBeGreaterThan(30));
    await first.stop();
    await until(() => expect(new Set(seen).size).toBe(200));
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(most).toBeLessThanOrEqual(5);
  });
});
