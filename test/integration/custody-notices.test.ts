import type { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newEvent, DESTINATION, destinationPolicy, settlement } from "../../src/custody/conformance/fixtures.ts";
import type { TakenCopy } from "../../src/custody/port.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SCOPE = { instance: "default", namespace: "shop" };
const HOLD_MS = 60_000;
const DAY_MS = 86_400_000;
const MOST = 10_000;

describe("what is kept of notices", () => {
  let redis: TestRedis;
  let client: Redis;
  let store: RedisStore;

  beforeEach(async () => {
    redis = await startRedis();
    client = redis.client();
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(async () => {
    store.close();
    await redis.stop();
  });

  const key = (name: string) => `${tagOf(SCOPE)}:${name}`;

  /** Notices of before, as the store keeps them, for both readers. */
  async function keptBefore(count: number, at: number): Promise<void> {
    const seeding = client.pipeline();
    for (let i = 0; i < count; i++) {
      const id = String(at * 4096 + i);
      seeding.zadd(key("notices"), id, `${id} {"kind":"Failing","destination":"~${i}","at":${at}}`);
      for (const reader of ["webhook", "email"]) seeding.zadd(key(`notices:${reader}`), at, id);
    }
    await seeding.exec();
  }

  /** One more: its destination says that it is gone. */
  async function oneMore(): Promise<void> {
    await store.inbox(SCOPE).claim(newEvent());
    const policies = new Map([[DESTINATION, destinationPolicy({ gate: { seq: 1 } })]]);
    const outbox = store.outbox(SCOPE, { policies: () => [] });
    const [copy] = (await outbox.turn({ settles: [], takes: [{ destination: DESTINATION, want: 1 }], policies }))
      .copies;
    const settle = settlement(copy as TakenCopy, "dead", { gate: { type: "gone", generation: 0 } });
    await outbox.turn({ settles: [settle], takes: [], policies });
  }

  test("the newest 10,000: what is older is given to nobody any more", async () => {
    const notices = store.notices(SCOPE);
    await notices.take("webhook", 1, HOLD_MS);
    await notices.take("email", 1, HOLD_MS);
    await keptBefore(MOST, Date.now() - 1_000);
    const [oldest] = await notices.take("webhook", 1, 0);
    await oneMore();
    expect([await client.zcard(key("notices")), await client.zcard(key("notices:email"))]).toEqual([MOST, MOST]);
    const [first] = await notices.take("email", 1, HOLD_MS);
    expect([oldest?.notice.destination, first?.notice.destination]).toEqual(["~0", "~1"]);
    // Whoever held it is late, and does no harm.
    await notices.settle("webhook", [oldest?.notice.id ?? ""]);
    await notices.postpone("webhook", oldest?.notice.id ?? "", 0);
    expect(await client.zcard(key("notices:webhook"))).toBe(MOST);
    expect(await client.hlen(key("notice-tries"))).toBe(1);
  });

  test("for 7 days", async () => {
    const notices = store.notices(SCOPE);
    await notices.take("email", 1, HOLD_MS);
    await keptBefore(3, Date.now() - 8 * DAY_MS);
    await keptBefore(1, Date.now() - 6 * DAY_MS);
    expect(await notices.take("email", 10, HOLD_MS)).toHaveLength(1);
    expect([await client.zcard(key("notices")), await client.zcard(key("notices:webhook"))]).toEqual([1, 1]);
  });

  test("until every reader has settled it, and then nothing of it is left", async () => {
    const notices = store.notices(SCOPE);
    for (const reader of ["webhook", "email"] as const) await notices.take(reader, 1, HOLD_MS);
    await oneMore();
    for (const reader of ["webhook", "email"] as const) {
      expect(await client.zcard(key("notices"))).toBe(1);
      const taken = await notices.take(reader, 10, HOLD_MS);
      await notices.settle(
        reader,
        taken.map(({ notice }) => notice.id),
      );
    }
    const left = ["notices", "notices:webhook", "notices:email", "notice-tries", "notice-wait"].map(key);
    expect(await client.exists(...left)).toBe(0);
  });

  test("nothing while nobody has ever asked", async () => {
    await oneMore();
    expect(await client.exists(key("notices"), key("notice-readers"))).toBe(0);
  });

  test("asking for nothing writes nothing", async () => {
    await store.notices(SCOPE).take("events", 10, HOLD_MS);
    const before = await client.info("persistence");
    await store.notices(SCOPE).take("events", 10, HOLD_MS);
    const size = (info: string) => /aof_current_size:(\d+)/.exec(info)?.[1];
    expect(size(await client.info("persistence"))).toBe(size(before));
    expect(size(before)).toMatch(/^\d+$/);
  });
});
