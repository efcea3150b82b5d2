import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { destinationPolicy, newEvent } from "../../src/custody/conformance/fixtures.ts";
import type { Ticket } from "../../src/custody/port.ts";
import { tagOf, ticketQueue } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

describe("tickets of many destinations that get work at the same time", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let scope: { readonly instance: string; readonly namespace: string };
  let ended: AbortController;
  const stops: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    store = new RedisStore({ url: redis.url });
    await store.start();
    scope = { instance: "default", namespace: randomUUID() };
    ended = new AbortController();
  });
  afterEach(async () => {
    ended.abort();
    for (const stop of stops.splice(0)) await stop();
    store.close();
    await redis.stop();
  });

  /** Takes tickets; `hold` says how long one is kept, ms. */
  const takeTickets = async (hold: (nth: number) => number, ticketConcurrency?: number) => {
    const taken: string[] = [];
    const holder = { taken, held: 0, most: 0 };
    const options = { policies: () => [], ...(ticketConcurrency !== undefined && { ticketConcurrency }) };
    const onTicket = async ({ destination, generation, slot }: Ticket) => {
      taken.push(`${destination}#${slot}#${generation}`);
      holder.held += 1;
      holder.most = Math.max(holder.most, holder.held);
      await sleep(hold(taken.length), undefined, { signal: ended.signal }).catch(() => undefined);
      holder.held -= 1;
    };
    stops.push(await store.outbox(scope, options).start({ onTicket, onHint: () => undefined }));
    return holder;
  };
  const FOR_EVER = 2 ** 30;

  const claim = async (destinations: number, group = "customer") => {
    const names = Array.from({ length: destinations }, (_, at) => `~${group}-${at}`);
    const inbox = store.inbox(scope);
    await Promise.all(names.map((destination) => inbox.claim(newEvent({ destinations: [{ destination, limit: 1 }] }))));
    return names.map((destination) => `${destination}#0#0`);
  };

  /** One event for many destinations: their hints are one message. */
  const claimOne = async (count: number, group: string) => {
    const destinations = Array.from({ length: count }, (_, at) => ({ destination: `~${group}-${at}`, limit: 1 }));
    await store.inbox(scope).claim(newEvent({ destinations }));
  };

  /** When BullMQ said so of each job, ms. */
  const jobEvents = async (name: string) => {
    const events = await redis.client().xrange(`${tagOf(scope)}:${ticketQueue()}:events`, "-", "+");
    const named = events.filter(([, fields]) => fields[1] === name);
    return new Map(named.map(([id, fields]) => [fields[fields.indexOf("jobId") + 1], Number(id.split("-")[0])]));
  };

  test("share jobs, and processes share these", async () => {
    const [one, other] = [await takeTickets(() => FOR_EVER), await takeTickets(() => FOR_EVER)];
    await sleep(100);
    const expected = await claim(64);
    await expect.poll(() => one.taken.length + other.taken.length).toBeGreaterThanOrEqual(64);
    // A second one of the same generation would have come by now.
    await sleep(300);
    expect([...one.taken, ...other.taken].toSorted()).toEqual(expected.toSorted());
    expect(Math.min(one.taken.length, other.taken.length)).toBeGreaterThan(0);
    const { size } = await jobEvents("added");
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(40);
  });

  test("are not held up by those that hang", async () => {
    const holder = await takeTickets((nth) => (nth % 8 === 0 ? FOR_EVER : 200), 100);
    await sleep(100);
    const expected = await claim(300);
    await expect.poll(() => new Set(holder.taken).size, { timeout: 15_000 }).toBe(expected.length);
    expect(holder.held).toBeGreaterThan(30);
  }, 30_000);

  test("are held on without the job they came with, which gives its place away after a second", async () => {
    const holder = await takeTickets(() => FOR_EVER);
    await sleep(100);
    await claim(64);
    const lives = async () => {
      const [active, completed] = [await jobEvents("active"), await jobEvents("completed")];
      return [...completed].map(([job, at]) => at - (active.get(job) ?? at));
    };
    await expect.poll(async () => (await lives()).length, { timeout: 10_000 }).toBeGreaterThan(4);
    expect(Math.min(...(await lives()))).toBeGreaterThan(900);
    expect(holder.held).toBeGreaterThanOrEqual(64);
  }, 20_000);

  test("are no more than a process may hold, but for the last job's", async () => {
    const holder = await takeTickets(() => FOR_EVER, 20);
    await sleep(100);
    await claim(200);
    await expect.poll(() => holder.held).toBeGreaterThanOrEqual(20);
    await sleep(3_000);
    expect(holder.most).toBeLessThan(20 + 16);
  });

  test("are left to other processes by one that has no room", async () => {
    const full = await takeTickets(() => FOR_EVER, 20);
    await sleep(100);
    await claim(24);
    await expect.poll(() => full.held).toBeGreaterThanOrEqual(20);
    const active = () => redis.client().llen(`${tagOf(scope)}:${ticketQueue()}:active`);
    const before = await active();
    await claim(200, "later");
    await sleep(500);
    // It had been waiting for one already.
    expect(await active()).toBeLessThanOrEqual(before + 1);
    const other = await takeTickets(() => FOR_EVER);
    await expect.poll(() => other.held, { timeout: 5_000 }).toBeGreaterThan(170);
    expect(full.most).toBeLessThan(20 + 16);
  }, 20_000);

  test("are not kept waiting by a process that has no room while another one has", async () => {
    const full = await takeTickets(() => FOR_EVER, 20);
    await sleep(100);
    await claimOne(19, "first");
    await expect.poll(() => full.held).toBe(19);
    // Nobody finds them silent, and the jobs that they came with end.
    await redis.client().del(`${tagOf(scope)}:busy`);
    await sleep(1_200);
    // A job each, and it fetches more than the one that still fits.
    await claimOne(8, "later");
    await sleep(300);
    expect(full.held).toBeGreaterThanOrEqual(20);
    expect(await redis.client().llen(`${tagOf(scope)}:${ticketQueue()}:active`)).toBeGreaterThan(1);
    const other = await takeTickets(() => FOR_EVER);
    await expect.poll(() => new Set([...full.taken, ...other.taken]).size, { timeout: 2_000 }).toBe(19 + 8);
    expect(full.most).toBe(20);
  });

  test("are held side by side when each came with a job of its own", async () => {
    const holder = await takeTickets(() => FOR_EVER, 60);
    await sleep(100);
    for (let nth = 0; nth < 58; nth++) await claim(1, `single-${nth}`);
    await expect.poll(() => new Set(holder.taken).size, { timeout: 2_000 }).toBe(58);
  });

  test("are given back at once by a process that ends while they wait for room", async () => {
    const holder = await takeTickets(() => FOR_EVER, 4);
    const stop = stops.pop();
    await sleep(100);
    await claim(1, "first");
    await claim(40, "many");
    await expect.poll(() => holder.held).toBeGreaterThanOrEqual(4);
    const began = performance.now();
    ended.abort();
    await stop?.();
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(await redis.client().llen(`${tagOf(scope)}:${ticketQueue()}:active`)).toBe(0);
  });

  test("are taken side by side again once a process that had no room has some", async () => {
    const holder = await takeTickets((nth) => (nth <= 20 ? 2_000 : FOR_EVER), 20);
    await sleep(100);
    await claimOne(20, "first");
    await expect.poll(() => holder.held).toBe(20);
    await redis.client().del(`${tagOf(scope)}:busy`);
    await sleep(1_300);
    await claim(1, "waits");
    await expect.poll(() => holder.held).toBe(1);
    const expected = await claim(5, "later");
    await sleep(1_500);
    expect(holder.taken).toEqual(expect.arrayContaining(expected));
  });

  test("go to another process when theirs falls silent after the job has ended", async () => {
    // It fetches nothing more, being full, and says nothing more: as after kill -9.
    const lost = store.outbox(scope, { policies: () => [], ticketConcurrency: 64 });
    const begun: string[] = [];
    const onTicket = async ({ destination, generation }: Ticket) => {
      begun.push(destination);
      const policies = new Map([[destination, destinationPolicy({ destination })]]);
      await lost.turn({ settles: [], takes: [{ destination, want: 0, started: generation }], policies });
      await sleep(FOR_EVER, undefined, { signal: ended.signal }).catch(() => undefined);
    };
    stops.push(await lost.start({ onTicket, onHint: () => undefined }));
    await sleep(100);
    await claimOne(64, "customer");
    await expect.poll(() => begun.length).toBe(64);
    await expect.poll(async () => (await jobEvents("completed")).size, { timeout: 5_000 }).toBeGreaterThan(4);
    const other = await takeTickets(() => FOR_EVER);
    const again = begun.map((destination) => `${destination}#0#1`);
    await expect.poll(() => other.taken, { timeout: 8_000 }).toEqual(expect.arrayContaining(again));
  }, 20_000);

  test("are found again by the janitor when their hints were missed, and share jobs too", async () => {
    const expected = await claim(100);
    const holder = await takeTickets(() => FOR_EVER);
    await expect.poll(() => holder.taken.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(100);
    expect(holder.taken.toSorted()).toEqual(expected.toSorted());
  });
});
