import { setTimeout as sleep } from "node:timers/promises";
import { ulid } from "ulid";
import { expect } from "vitest";
import {
  type ConformanceStore,
  type Open,
  DESTINATION,
  ROUTE,
  destinationPolicy,
  mark,
  newEvent,
  settle,
  settlement,
  take,
  takeOne,
  storeTest,
} from "./fixtures.ts";

/** The `dead letters` part of the suite. */
export function deadLettersConformance(open: Open): void {
  const withStore = storeTest(open);
  const die = async (store: ConformanceStore, event = newEvent()) => {
    const { id } = await store.inbox.claim(event);
    const worker = await store.outbox([]);
    const record = { attempt: 1, at: 1, status: 404, response: "nope", action: "dead" as const, reason: "Status404" };
    await settle(worker, [settlement(await takeOne(worker), "dead", { record })]);
    return { id, worker };
  };

  withStore("keeps the body and says why", async (store) => {
    const { id } = await die(store);
    const { items } = await store.operations.deadLetters({ route: ROUTE, limit: 10 });
    expect(items).toMatchObject([
      { eventId: id, failureContext: { attempts: 1, lastStatus: 404, lastResponse: "nope" } },
    ]);
    expect((await store.ledger.body(id))?.toString()).toBe('{"n":1}');
  });

  withStore("pages oldest first", async (store) => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      ids.push((await die(store)).id);
      await sleep(3);
    }
    const first = await store.operations.deadLetters({ limit: 2 });
    const second = await store.operations.deadLetters({ limit: 2, cursor: first.next ?? "" });
    expect([...first.items, ...second.items].map(({ eventId }) => eventId)).toEqual(ids);
    expect(second.next).toBeUndefined();
  });

  withStore("pages on where it was although some were replayed meanwhile, its own last one too", async (store) => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push((await die(store)).id);
      await sleep(3);
    }
    const page = async (cursor?: string) => {
      const { items, next } = await store.operations.deadLetters({ limit: 2, ...(cursor !== undefined && { cursor }) });
      return { ids: items.map(({ eventId }) => eventId), next };
    };
    const first = await page();
    await store.ledger.replay(ids[0] ?? "");
    const second = await page(first.next);
    expect([...first.ids, ...second.ids]).toEqual(ids.slice(0, 4));
    await store.ledger.replay(ids[3] ?? "");
    const again = (await take(await store.outbox([]))).filter(({ eventId }) => eventId === ids[3]);
    await settle(
      await store.outbox([]),
      again.map((copy) => settlement(copy, "dead")),
    );
    expect((await page(second.next)).ids).toEqual([ids[4], ids[3]]);
  });

  withStore("are replayed under the same id with a fresh budget, after what waits in the lane", async (store) => {
    const { id, worker } = await die(store);
    const waiting = await store.inbox.claim(newEvent());
    expect(await store.ledger.replay(id)).toEqual({ replayed: 1 });
    expect(await store.ledger.replay(id), "a second time there is nothing dead").toEqual({ replayed: 0 });
    expect((await store.operations.deadLetters({ limit: 10 })).items).toEqual([]);
    const copies = await take(worker);
    expect(copies.map(({ eventId }) => eventId)).toEqual([waiting.id, id]);
    expect(copies[1]).toMatchObject({ attempt: 2, used: 1 });
  });

  withStore("are not replayed when unknown or delivered", async ({ inbox, outbox, ledger }) => {
    expect(await ledger.replay(ulid())).toEqual({ replayed: 0 });
    const { id } = await inbox.claim(newEvent());
    const worker = await outbox([]);
    await settle(worker, [settlement(await takeOne(worker), "delivered")]);
    expect(await ledger.replay(id)).toEqual({ replayed: 0 });
  });

  withStore("come back by a redelivery, only the dead copies", async (store) => {
    const other = `${ROUTE}/billing`;
    const event = newEvent({
      mark: mark("revive"),
      destinations: [DESTINATION, other].map((destination) => ({ destination, limit: 4 })),
    });
    const { id, worker } = await die(store, event);
    const second = destinationPolicy({ destination: other });
    await settle(worker, [settlement(await takeOne(worker, second), "delivered")], second);
    expect(await store.inbox.claim(newEvent({ mark: mark("revive") }))).toEqual({ outcome: "revived", id });
    expect(await takeOne(worker)).toMatchObject({ eventId: id, used: 1 });
    expect(await take(worker, second)).toHaveLength(0);
  });

  withStore("refuse a repeated settle of their former life", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const copy = await takeOne(worker);
    await settle(worker, [settlement(copy, "dead")]);
    await store.ledger.replay(id);
    expect(await settle(worker, [settlement(copy, "dead")])).toEqual([0]);
    expect((await store.ledger.event(id))?.copies[0]).toMatchObject({ state: "waiting" });
  });
}
