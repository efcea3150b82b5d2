import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { ReplayKeyReused } from "../operations.ts";
import {
  type ConformanceStore,
  type Open,
  DESTINATION,
  ROUTE,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
  storeTest,
} from "./fixtures.ts";
import { ended } from "./operations.ts";

const FILTER = { route: ROUTE };
const RATE = 5_000;

/** Has `n` events die at once. */
async function dead(store: ConformanceStore, n: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < n; i++) ids.push((await store.inbox.claim(newEvent())).id);
  const worker = await store.outbox([]);
  for (let done = 0; done < n; ) {
    const copies = await take(worker);
    await settle(
      worker,
      copies.map((copy) => settlement(copy, "dead")),
    );
    done += copies.length;
  }
  return ids;
}

/** Replays of many. */
export function replaysConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("are found by their owner, and by nobody else's", async (store) => {
    const one = await store.operations.startReplay({ filter: FILTER, owner: "a" });
    const other = await store.operations.startReplay({ filter: FILTER, owner: "b" });
    const operators = await store.operations.startReplay({ filter: FILTER });
    expect((await store.operations.replays("a")).map(({ id, owner }) => [id, owner])).toEqual([[one.replay.id, "a"]]);
    expect((await store.operations.replays("b")).map(({ id }) => id)).toEqual([other.replay.id]);
    expect(await store.operations.replays("c")).toEqual([]);
    expect(operators.replay).not.toHaveProperty("owner");
    expect(await store.operations.replays()).toHaveLength(3);
  });

  withStore("replay all that fit, once, and count them", async (store) => {
    const ids = await dead(store, 30);
    const { replay, created } = await store.operations.startReplay({ filter: FILTER, rate: RATE });
    expect({ created, ...replay }).toMatchObject({
      created: true,
      state: "running",
      total: 30,
      replayed: 0,
      rate: RATE,
    });
    await sleep(20);
    const told = await store.tend([routePolicy()]);
    expect(await store.operations.replay(replay.id)).toMatchObject({ state: "done", replayed: 30, scanned: 30 });
    const again = [...told, ...(await store.tend([routePolicy()]))];
    expect(again.reduce((sum, { copies }) => sum + copies, 0)).toBe(30);
    expect(again).toContainEqual(expect.objectContaining({ what: "replayed", route: ROUTE }));
    const worker = await store.outbox([]);
    const copies = [...(await take(worker)), ...(await take(worker))];
    await settle(
      worker,
      copies.map((copy) => settlement(copy, "delivered")),
    );
    copies.push(...(await take(worker)));
    expect(copies.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted());
    expect((await store.operations.replays()).map(({ id }) => id)).toEqual([replay.id]);
  });

  withStore("take only what died within their time, and not what dies again", async (store) => {
    const first = await ended(store, "dead");
    await sleep(3);
    const between = Date.now();
    await sleep(3);
    const second = await ended(store, "dead");
    const filter = { destination: DESTINATION, to: between };
    const { replay } = await store.operations.startReplay({ filter, rate: RATE });
    expect(replay.total).toBe(1);
    await sleep(5);
    await store.tend([]);
    const worker = await store.outbox([]);
    const copies = await take(worker);
    expect(copies.map(({ eventId }) => eventId)).toEqual([first]);
    await settle(
      worker,
      copies.map((copy) => settlement(copy, "dead")),
    );
    await store.tend([]);
    expect(await take(worker)).toEqual([]);
    const { items } = await store.operations.deadLetters({ limit: 10 });
    expect(items.map(({ eventId }) => eventId)).toEqual([second, first]);
  });

  withStore("do not replay what died after their creation", async (store) => {
    await ended(store, "dead");
    const { replay } = await store.operations.startReplay({ filter: FILTER, rate: RATE });
    await sleep(5);
    const late = await ended(store, "dead");
    await store.tend([]);
    expect(await store.operations.replay(replay.id)).toMatchObject({ state: "done", replayed: 1 });
    expect((await store.operations.deadLetters({ limit: 10 })).items).toMatchObject([{ eventId: late }]);
  });

  withStore("filter by reason and type", async (store) => {
    await ended(store, "dead", { eventType: "a" });
    const wanted = await ended(store, "dead", { eventType: "b" }, "AttemptsExhausted");
    const filter = { reason: "Attempts*", eventType: "b" };
    const { replay } = await store.operations.startReplay({ filter, rate: RATE });
    expect(replay.total).toBe(1);
    await sleep(5);
    await store.tend([]);
    expect(await store.operations.replay(replay.id)).toMatchObject({ state: "done", replayed: 1, scanned: 2 });
    expect((await take(await store.outbox([]))).map(({ eventId }) => eventId)).toEqual([wanted]);
  });

  withStore("are created once for a key, and a key stands for one filter", async (store) => {
    await ended(store, "dead");
    const first = await store.operations.startReplay({ filter: FILTER, key: "k" });
    const second = await store.operations.startReplay({ filter: { route: ROUTE }, key: "k" });
    expect(second).toEqual({ replay: first.replay, created: false });
    const other = store.operations.startReplay({ filter: {}, key: "k" });
    await expect(other).rejects.toThrow(ReplayKeyReused);
    await expect(store.operations.startReplay({ filter: FILTER, rate: 0 })).rejects.toThrow(RangeError);
    const racing = await Promise.all(
      [1, 2, 3].map(() => store.operations.startReplay({ filter: FILTER, key: "same" })),
    );
    expect(racing.filter(({ created }) => created)).toHaveLength(1);
    expect(await store.operations.replays()).toHaveLength(2);
  });

  withStore("go no faster than their rate", async (store) => {
    await dead(store, 30);
    const began = performance.now();
    const { replay } = await store.operations.startReplay({ filter: FILTER, rate: 100 });
    await store.tend([]);
    const end = await store.operations.replay(replay.id);
    expect(end).toMatchObject({ state: "done", replayed: 30 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(290);
  });

  withStore("stand still while paused, go on when resumed, and end when cancelled", async (store) => {
    await dead(store, 6);
    const { operations } = store;
    const { replay } = await operations.startReplay({ filter: FILTER, rate: RATE });
    expect(await operations.steerReplay(replay.id, "paused")).toMatchObject({ state: "paused" });
    await sleep(5);
    await store.tend([]);
    expect(await operations.replay(replay.id)).toMatchObject({ state: "paused", replayed: 0 });
    expect(await operations.steerReplay(replay.id, "running")).toMatchObject({ state: "running" });
    await store.tend([]);
    expect(await operations.replay(replay.id)).toMatchObject({ state: "done", replayed: 6 });
    expect(await operations.steerReplay(replay.id, "cancelled"), "what ended stays").toMatchObject({ state: "done" });
    const second = await operations.startReplay({ filter: FILTER });
    expect(await operations.steerReplay(second.replay.id, "cancelled")).toMatchObject({ state: "cancelled" });
    expect(await operations.steerReplay(second.replay.id, "running")).toMatchObject({ state: "cancelled" });
    expect(await operations.steerReplay("none", "paused")).toBeUndefined();
  });
}
