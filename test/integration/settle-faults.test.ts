import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { newEvent } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { workerDestinations } from "../../src/delivery/worker-destinations.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { Worker } from "../../src/delivery/worker.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { CHAIN_NAMESPACE, chainRoute } from "../support/chain/route.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SCOPE = { instance: "default", namespace: CHAIN_NAMESPACE };
/** Longer than the lease of an exchange of 1 s, so that a second worker could have taken the copy. */
const OUTAGE_MS = 9_000;

/** Redis fails after the destination got the request and before its 2xx is settled. */
describe("a known 2xx is not sent again", () => {
  let redis: TestRedis;
  let server: Server;
  let calls: number;
  let onCall: () => Promise<unknown>;
  const closers: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    calls = 0;
    onCall = async () => undefined;
    server = createServer((request, response) => {
      calls++;
      request.resume().on("end", () => void onCall().then(() => response.end("ok")));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  });
  afterEach(async () => {
    redis.thaw();
    for (const close of closers.splice(0)) await close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await redis.stop();
  });

  const startWorker = async () => {
    const { port } = server.address() as AddressInfo;
    const route = chainRoute(`http://127.0.0.1:${port}/hook`, { destination: { timeoutMs: 1_000 } });
    const store = new RedisStore({ url: redis.url });
    await store.start();
    const destinations = workerDestinations([route]);
    const policies = () => [...destinations.values()].map(({ policy }) => policy.policy);
    const outbox = store.outbox(SCOPE, { policies });
    const worker = new Worker({ outbox, attempt: createHttpAttempt(loopbackSender()), destinations });
    await worker.start();
    closers.push(async () => {
      await worker.stop();
      store.close();
    });
    return { store, destination: [...destinations.values()][0] };
  };

  const FAULTS: [name: string, begin: () => Promise<unknown>, end: () => Promise<unknown>][] = [
    ["is frozen", async () => redis.freeze(), async () => redis.thaw()],
    [
      "has no replicas",
      () => redis.client().config("SET", "min-replicas-to-write", "1"),
      () => redis.client().config("SET", "min-replicas-to-write", "0"),
    ],
    [
      "is read-only",
      () => redis.client().call("REPLICAOF", "127.0.0.1", "1"),
      () => redis.client().call("REPLICAOF", "NO", "ONE"),
    ],
    [
      "is full",
      () => redis.client().config("SET", "maxmemory", "1mb"),
      () => redis.client().config("SET", "maxmemory", "512mb"),
    ],
  ];

  test.each(FAULTS)("when Redis %s between the response and the settle", async (_name, begin, end) => {
    const { store, destination } = await startWorker();
    await startWorker();
    const policy = destination?.policy;
    if (policy === undefined) throw new Error("the route has no destination");
    onCall = begin;
    const { id } = await store
      .inbox(SCOPE)
      .claim(
        newEvent({ policy: policy.policy, destinations: [{ destination: policy.destination, limit: policy.limit }] }),
      );
    await vi.waitFor(() => expect(calls).toBe(1), 5_000);
    await sleep(OUTAGE_MS);
    await end();
    const ledger = store.ledger(SCOPE);
    const state = async () => (await ledger.event(id).catch(() => undefined))?.copies[0]?.state;
    for (let waited = 0; (await state()) !== "delivered" && waited < 8_000; waited += 100) await sleep(100);
    expect(await state()).toBe("delivered");
    await sleep(1_000);
    expect(calls).toBe(1);
  });
});
