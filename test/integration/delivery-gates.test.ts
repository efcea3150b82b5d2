import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { GateConfig, GateTransition } from "../../src/custody/gate.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { workerDestination } from "../support/worker-destination.ts";

const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });
const ID = "~acme";

describe("a worker and a destination's gate", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  /** A worker, a receiver whose answers the test decides, and a namespace with some events for it. */
  async function start(
    gate: Partial<GateConfig>,
    options: { events: number; answer?: (n: number, response: ServerResponse) => void; retry?: readonly number[] },
  ) {
    const requests: { at: number; id: string }[] = [];
    const server = createServer((request, response) => {
      requests.push({ at: Date.now(), id: String(request.headers["webhook-id"]) });
      request.resume();
      options.answer?.(requests.length, response);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const plain = workerDestination({
      id: ID,
      target: { type: "http", url },
      concurrency: 8,
      retry: {
        type: "schedule",
        delaysMs: [...(options.retry ?? [100, 100, 100, 100])],
        jitter: 0,
        giveUpAfterMs: 3_600_000,
        maxRetryAfterMs: 3_600_000,
        maxAgeMs: 3_600_000,
      },
    });
    const destination = { ...plain, policy: { ...plain.policy, gate: { seq: 1, ...gate } } };
    const scope = { instance: "default", namespace: randomUUID() };
    const store = new RedisStore({ url: redis.url });
    await store.start();
    cleanups.push(() => store.close());
    const inbox = store.inbox(scope);
    const claim = async (count: number): Promise<void> => {
      for (let left = count; left > 0; left -= 500) {
        const batch = Array.from({ length: Math.min(500, left) }, () =>
          inbox.claim({
            id: randomUUID().replaceAll("-", "").slice(0, 26),
            policy: destination.policy.policy,
            mark: undefined,
            headers: {},
            body: Buffer.from("{}"),
            seq: 1,
            destinations: [{ destination: ID, limit: 8 }],
          }),
        );
        await Promise.all(batch);
      }
    };
    await claim(options.events);
    const sender = loopbackSender();
    cleanups.push(() => sender.close());
    const changes: GateTransition[] = [];
    const worker = new Worker({
      outbox: store.outbox(scope, { policies: () => [destination.policy.policy] }),
      attempt: createHttpAttempt(sender),
      destinations: new Map([[ID, destination]]),
      onGate: (transition) => changes.push(transition),
    });
    await worker.start();
    cleanups.push(() => worker.stop());
    const steps = () => changes.map(({ from, to, reason }) => `${from} ${to} ${reason}`);
    const ledger = store.ledger(scope);
    const open = async () => {
      const { waiting = 0, active = 0, delayed = 0 } = (await ledger.stats([ID])).get(ID) ?? {};
      return waiting + active + delayed;
    };
    const { gate: _, ...ungated } = destination.policy;
    const dropGate = () => worker.update(new Map([[ID, { ...destination, policy: ungated }]]));
    return { requests, claim, changes, steps, ledger, open, dropGate, tag: tagOf(scope) };
  }

  it("waits as long as a 429 asks, tries one request and then drains", async () => {
    const answer = (n: number, response: ServerResponse) => {
      if (n === 1) response.writeHead(429, { "retry-after": "2" });
    };
    const { requests, steps, open, changes } = await start({}, { events: 60, answer });
    await until(async () => expect(await open()).toBe(0));
    expect(steps()).toEqual(["Closed Held RetryAfter", "Held HalfOpen Probing", "HalfOpen Closed Recovered"]);
    const held = changes[0]?.at ?? 0;
    const during = requests.filter(({ at }) => at > held + 200 && at < held + 1_900);
    expect(during, "nothing reaches it while it is held").toHaveLength(0);
    expect(changes[1]?.at).toBeGreaterThanOrEqual(held + 2_000);
    expect(changes[1]?.at).toBeLessThan(held + 5_000);
  });

  it("opens on failures, probes, and delivers everything once it is well again", async () => {
    let well = false;
    const answer = (_n: number, response: ServerResponse) => {
      if (!well) response.writeHead(500);
    };
    const circuit = { consecutiveFailures: 5, openMs: 500, maxOpenMs: 1_000 };
    const retry = [100, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500];
    const { requests, steps, open } = await start({ circuit }, { events: 40, answer, retry });
    await until(() => expect(steps()).toContain("HalfOpen Open ProbeFailed"));
    expect(requests.length, "not all 40 were tried").toBeLessThan(20);
    well = true;
    await until(async () => expect(await open()).toBe(0));
    expect(steps().at(-1)).toBe("HalfOpen Closed Recovered");
  });

  it("sends no faster than the rate permits, and not much slower", async () => {
    const { requests, open } = await start({ rate: { requests: 40, perMs: 1_000, burst: 4 } }, { events: 60 });
    await until(async () => expect(await open()).toBe(0));
    const times = requests.map(({ at }) => at);
    const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 500).length));
    // 20 in half a second, the burst, and as much as delivery may be late.
    expect(most).toBeLessThanOrEqual(20 + 4 + 6);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_200);
  });

  it("looks at a disabled destination once an hour, whose gate may be gone with its config", async () => {
    const answer = (n: number, response: ServerResponse) => {
      if (n === 1) response.writeHead(410);
    };
    const { claim, steps, open, dropGate, tag } = await start({}, { events: 1, answer });
    await until(() => expect(steps()).toEqual(["Closed Disabled Gone"]));
    await claim(5);
    dropGate();
    const admin = redis.client();
    await until(async () => expect(await admin.zscore(`${tag}:exp`, `d:${ID}`)).not.toBeNull());
    const inMs = Number(await admin.zscore(`${tag}:exp`, `d:${ID}`)) - Date.now();
    expect(inMs).toBeGreaterThan(3_500_000);
    expect(inMs).toBeLessThanOrEqual(3_600_000);
    expect(await open()).toBe(5);
    await admin.zadd(`${tag}:exp`, 1, `d:${ID}`);
    await until(async () => expect(await open()).toBe(0));
  });

  it("asks next to nothing of Redis while copies wait for a disabled destination, and drains them when it is enabled", async () => {
    const answer = (n: number, response: ServerResponse) => {
      if (n === 1) response.writeHead(410);
    };
    const { claim, steps, ledger, open, requests } = await start({}, { events: 1, answer });
    await until(() => expect(steps()).toEqual(["Closed Disabled Gone"]));
    await claim(10_000);
    await sleep(1_500);
    const admin = redis.client();
    const commands = async () => Number(/total_commands_processed:(\d+)/.exec(await admin.info("stats"))?.[1]);
    const [before, began] = [await commands(), performance.now()];
    await sleep(3_000);
    const perSecond = ((await commands()) - before) / ((performance.now() - began) / 1_000);
    expect(perSecond).toBeLessThan(50);
    expect(await open()).toBe(10_000);
    expect(requests).toHaveLength(1);
    await ledger.enable(ID);
    await until(async () => expect(await open()).toBeLessThan(9_000));
  });
});
