import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import type { EventView } from "../../src/custody/port.ts";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { type Chain, type ChainOptions, type ChainProcess, startChain } from "../support/chain/chain.ts";
import { CHAIN_NAMESPACE } from "../support/chain/route.ts";
import type { KillPoint } from "../support/chain/settings.ts";
import { seeded } from "../support/seeded.ts";

const SCOPE = { instance: "default", namespace: CHAIN_NAMESPACE };
const FINAL = new Set(["delivered", "dead", "cancelled", "ignored", "expired"]);

/** Kills processes of a whole chain, and then asks what became of each acknowledged event. */
describe("no acknowledged event is lost", () => {
  let chain: Chain | undefined;
  afterEach(async () => {
    await chain?.stop();
    chain = undefined;
  });

  const start = async (options?: ChainOptions): Promise<Chain> => {
    chain = await startChain(options);
    return chain;
  };

  /** Every acknowledged event, once all are final. Fails when some are not after `ms`. */
  const settled = async ({ redis, acks }: Chain, ms: number): Promise<EventView[]> => {
    const store = new RedisStore({ url: redis.url });
    await store.start();
    const ledger = store.ledger(SCOPE);
    const ids = [...new Set(acks().values())];
    const views: EventView[] = [];
    let open = ids;
    for (const end = performance.now() + ms; open.length > 0 && performance.now() < end; await sleep(250)) {
      const still: string[] = [];
      for (const id of open) {
        const view = await ledger.event(id);
        if (view !== undefined && view.copies.every(({ state }) => FINAL.has(state))) views.push(view);
        else still.push(id);
      }
      open = still;
    }
    const left = await Promise.all(open.slice(0, 3).map((id) => ledger.event(id)));
    store.close();
    expect(left, `${open.length} of ${ids.length} acknowledged events are not final`).toEqual([]);
    return views;
  };

  /** A second 2xx for an event is allowed only where an attempt's outcome was unknown. */
  const duplicates = ({ receipts }: Chain, views: readonly EventView[]) => {
    const received = receipts();
    const counts = { missing: 0, doubled: 0, unexplained: 0, unknown: 0 };
    for (const { id, copies } of views) {
      const times = received.get(id)?.length ?? 0;
      const unknown = copies.flatMap(({ attempts }) => attempts).filter(({ action }) => action === "unknown").length;
      counts.unknown += unknown;
      if (times === 0) counts.missing++;
      if (times > 1) counts.doubled++;
      if (times > 1 + unknown) counts.unexplained++;
    }
    return counts;
  };

  test("through 18 random kills of gateway, workers and Redis, and all tickets deleted by hand", {
    timeout: 300_000,
  }, async () => {
    const count = 20_000;
    const running = await start({ workers: 2, sink: { SINK_FAIL_EVERY: "20" } });
    const { redis, gateway, workers } = running;
    await Promise.all([gateway, ...workers].map((one) => one.start()));
    const sending = running.send(count);
    const random = seeded(20_261_130);
    const victims: (ChainProcess | "redis")[] = [gateway, ...workers, "redis"];
    for (let kills = 0; kills < 18; kills++) {
      await sleep(300 + random() * 900);
      const victim = victims[kills % victims.length];
      if (victim === "redis") {
        await redis.kill9();
        await sleep(random() * 300);
        await redis.restart();
      } else if (victim !== undefined) {
        await victim.kill9();
        await sleep(random() * 300);
        await victim.start();
      }
      if (kills === 9) {
        const admin = redis.client();
        for (const key of await admin.keys(`${tagOf(SCOPE)}:tickets-*`)) await admin.del(key);
        admin.disconnect();
      }
    }
    await sending;
    expect(running.acks().size).toBe(count);
    const views = await settled(running, 120_000);
    expect(views.length).toBe(new Set(running.acks().values()).size);
    expect(views.every(({ copies }) => copies.length === 1 && copies[0]?.state === "delivered")).toBe(true);
    const { missing, unexplained } = duplicates(running, views);
    expect({ missing, unexplained }).toEqual({ missing: 0, unexplained: 0 });
  });

  const WORKER_POINTS: KillPoint[] = ["request-sent", "received-not-settled", "done-ticket-open"];
  test.each(WORKER_POINTS)("when a worker is killed at %s", { timeout: 90_000 }, async (point) => {
    const running = await start({ worker: { timeoutMs: 1_000 } });
    const [worker] = running.workers;
    await running.gateway.start();
    await worker?.start(point);
    await running.send(20, 4);
    await worker?.gone();
    await worker?.start();
    const views = await settled(running, 40_000);
    const { missing, unexplained } = duplicates(running, views);
    expect({
      missing,
      unexplained,
      delivered: views.filter(({ copies }) => copies[0]?.state === "delivered").length,
    }).toEqual({
      missing: 0,
      unexplained: 0,
      delivered: 20,
    });
  });

  test("when a worker is killed while it moves a copy to the dead letters", { timeout: 90_000 }, async () => {
    const running = await start({ worker: { timeoutMs: 1_000, delaysMs: [50] }, sink: { SINK_STATUS: "404" } });
    const [worker] = running.workers;
    await running.gateway.start();
    await worker?.start("moving-to-dead");
    await running.send(5, 1);
    await worker?.gone();
    await worker?.start();
    const views = await settled(running, 40_000);
    expect(views.map(({ copies }) => copies[0]?.state)).toEqual(Array.from({ length: 5 }, () => "dead"));
  });

  const GATEWAY_POINTS: KillPoint[] = ["written-not-answered", "answered"];
  test.each(GATEWAY_POINTS)("when the gateway is killed at %s", { timeout: 60_000 }, async (point) => {
    const running = await start();
    await running.workers[0]?.start();
    await running.gateway.start(point);
    const sending = running.send(20, 4);
    await running.gateway.gone();
    await running.gateway.start();
    await sending;
    expect(running.acks().size).toBe(20);
    expect(new Set(running.acks().values()).size, "a repeated delivery is the same event").toBe(20);
    const views = await settled(running, 20_000);
    expect(duplicates(running, views)).toMatchObject({ missing: 0, doubled: 0 });
    expect(running.receipts().size, "nothing was delivered that was not acknowledged in the end").toBe(20);
  });

  test("when Redis is killed between a write and its answer", { timeout: 60_000 }, async () => {
    const running = await start();
    await running.workers[0]?.start();
    await running.gateway.start();
    const sending = running.send(2_000, 32);
    await sleep(400);
    await running.redis.kill9();
    await running.redis.restart();
    await sending;
    const views = await settled(running, 30_000);
    expect(views).toHaveLength(2_000);
    expect(duplicates(running, views)).toMatchObject({ missing: 0, unexplained: 0 });
  });
});
