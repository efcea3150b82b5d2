import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { keepShelves } from "../keep-shelves.ts";
import type { DeletedRoute } from "../shelves.ts";
import {
  type ConformanceStore,
  type Open,
  DESTINATION,
  ROUTE,
  SHORT_LEASE_TIMEOUT_MS,
  destinationPolicy,
  mark,
  newEvent,
  routePolicy,
  settle,
  settlement,
  storeTest,
  take,
  takeOne,
} from "./fixtures.ts";

const OTHER_ROUTE = "00000000000000bb";
const DELETED: DeletedRoute = { route: ROUTE, name: "orders", namespaceUid: "uid-1", destinations: [DESTINATION] };
const HOUR_MS = 3_600_000;

/** The `shelves` part of the suite. */
export function shelvesConformance(open: Open): void {
  const withStore = storeTest(open);
  const stateOf = async ({ ledger }: ConformanceStore, id: string) => (await ledger.event(id))?.copies[0]?.state;
  const shelveAll = async ({ shelves }: ConformanceStore, route = DELETED) => {
    let total = 0;
    for (;;) {
      const { shelved, more } = await shelves().shelve(route);
      total += shelved;
      if (!more) return total;
    }
  };

  withStore("takes a deleted route's copies out of its lanes, and gives them back", async (store) => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await store.inbox.claim(newEvent())).id);
    expect(await store.shelves().shelve(DELETED)).toEqual({ shelved: 3, active: 0, more: false });
    const worker = await store.outbox([]);
    expect(await take(worker)).toEqual([]);
    expect(await stateOf(store, ids[0] ?? "")).toBe("shelved");
    expect(await store.shelves().orphans()).toMatchObject([
      { route: ROUTE, name: "orders", namespaceUid: "uid-1", events: 3, deadLetters: 0, records: 3 },
    ]);
    expect(await store.shelves().unshelve(ROUTE)).toEqual({ unshelved: 3, more: false });
    expect((await take(worker)).map(({ eventId }) => eventId)).toEqual(ids);
    expect(await store.shelves().orphans()).toEqual([]);
  });

  withStore("touches no other route, not even in a destination both use", async (store) => {
    const shared = "~acme";
    const policy = routePolicy({ route: OTHER_ROUTE });
    const destinations = [{ destination: shared, limit: 4 }];
    await store.inbox.claim(newEvent({ destinations }));
    const other = await store.inbox.claim(newEvent({ policy, destinations }));
    expect(await shelveAll(store)).toBe(1);
    const copies = await take(await store.outbox([]), destinationPolicy({ destination: shared }));
    expect(copies.map(({ eventId }) => eventId)).toEqual([other.id]);
    expect(await store.shelves().routes()).toEqual([ROUTE, OTHER_ROUTE]);
  });

  withStore("puts copies of a suspended route aside when they are met in a lane that others share", async (store) => {
    const shared = "~acme";
    const destinations = [{ destination: shared, limit: 1 }];
    const ids: string[] = [];
    for (let i = 0; i < 600; i++) ids.push((await store.inbox.claim(newEvent({ destinations }))).id);
    const policy = routePolicy({ route: OTHER_ROUTE });
    // Lanes go by the millisecond; within one, each route counts by itself.
    await new Promise((resolve) => setTimeout(resolve, 5));
    const other = await store.inbox.claim(newEvent({ policy, destinations }));
    const worker = await store.outbox([]);
    const gate = { seq: 1 };
    const suspending = destinationPolicy({ destination: shared, limit: 1, shelving: [ROUTE], gate });
    const policies = new Map([[shared, suspending]]);
    const takes = [{ destination: shared, want: 1 }];
    // A page at a time, and the next one is asked for at once.
    let result = await worker.turn({ settles: [], takes, policies });
    expect([result.copies, result.reopenMs?.get(shared)]).toEqual([[], 1]);
    for (let turns = 0; turns < 5 && result.copies.length === 0; turns++) {
      result = await worker.turn({ settles: [], takes, policies });
    }
    expect(result.copies.map(({ eventId }) => eventId)).toEqual([other.id]);
    expect(result.copies.map(({ attempt }) => attempt)).toEqual([1]);
    expect(await stateOf(store, ids[0] ?? "")).toBe("shelved");
    expect(await stateOf(store, ids.at(-1) ?? "")).toBe("shelved");
    expect(await store.shelves().orphans(), "it was not deleted").toEqual([]);
    await settle(worker, [settlement(result.copies[0] as never, "delivered")], suspending);
    expect((await worker.turn({ settles: [], takes, policies })).copies).toEqual([]);

    // As long as its config says so it stays there, and in the order it had it comes back.
    await store.tend([routePolicy({ suspended: true }), policy]);
    expect(await stateOf(store, ids[0] ?? "")).toBe("shelved");
    for (let n = 0; n < 8; n++) await store.tend([routePolicy(), policy]);
    const resumed = destinationPolicy({ destination: shared, limit: 1_000, gate });
    const all = await take(worker, resumed, 1_000);
    expect(all.map(({ eventId }) => eventId)).toEqual(ids);
    expect(new Set(all.map(({ attempt }) => attempt))).toEqual(new Set([1]));
  });

  withStore("keeps a suspended route's copies on its shelf when it is deleted, and gives all back", async (store) => {
    const shared = "~acme";
    const destinations = [{ destination: shared, limit: 1 }];
    const first = await store.inbox.claim(newEvent({ destinations }));
    const worker = await store.outbox([]);
    const policy = destinationPolicy({ destination: shared, shelving: [ROUTE] });
    expect(await take(worker, policy)).toEqual([]);
    const second = await store.inbox.claim(newEvent({ destinations }));
    expect(await shelveAll(store)).toBe(1);
    expect(await store.shelves().orphans()).toMatchObject([{ route: ROUTE, events: 2 }]);
    await store.tend([routePolicy()]);
    expect(await stateOf(store, first.id)).toBe("shelved");
    expect(await store.shelves().unshelve(ROUTE)).toEqual({ unshelved: 2, more: false });
    const goingOn = destinationPolicy({ destination: shared });
    expect((await take(worker, goingOn)).map(({ eventId }) => eventId)).toEqual([first.id, second.id]);
  });

  withStore("finds events that came in after the route was deleted", async (store) => {
    await store.inbox.claim(newEvent());
    await shelveAll(store);
    const late = await store.inbox.claim(newEvent());
    expect(await take(await store.outbox([]), destinationPolicy(), 0)).toEqual([]);
    expect(await shelveAll(store)).toBe(1);
    expect(await stateOf(store, late.id)).toBe("shelved");
    expect(await shelveAll(store), "and nothing twice").toBe(0);
  });

  withStore("leaves nothing of a route that has nothing in custody, or nothing any more", async (store) => {
    expect(await store.shelves().shelve(DELETED)).toEqual({ shelved: 0, active: 0, more: false });
    expect([await store.shelves().orphans(), await store.shelves().routes()]).toEqual([[], []]);
    const policy = routePolicy({ retention: { ...routePolicy().retention, maxEvents: 0 } });
    const destination = destinationPolicy({ policy });
    await store.inbox.claim(newEvent({ policy }));
    const worker = await store.outbox([]);
    await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
    expect(await store.shelves().routes()).toEqual([ROUTE]);
    expect(await store.shelves().shelve(DELETED)).toEqual({ shelved: 0, active: 0, more: false });
    expect([await store.shelves().orphans(), await store.shelves().routes()]).toEqual([[], []]);
  });

  withStore("waits for a running attempt, and shelves what it puts back", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const copy = await takeOne(worker);
    expect(await store.shelves().shelve(DELETED)).toMatchObject({ shelved: 0, active: 1 });
    expect(await settle(worker, [settlement(copy, "retry", { delayMs: 60_000 })])).toEqual([]);
    expect(await store.shelves().shelve(DELETED)).toMatchObject({ shelved: 1, active: 0 });
    expect(await stateOf(store, id)).toBe("shelved");
    await store.shelves().unshelve(ROUTE);
    expect((await store.ledger.event(id))?.copies[0]).toMatchObject({ state: "delayed" });
  });

  withStore("accepts the outcome of an attempt that ran when the route was deleted", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const copy = await takeOne(worker);
    await store.shelves().shelve(DELETED);
    expect(await settle(worker, [settlement(copy, "delivered")])).toEqual([]);
    expect(await store.shelves().shelve(DELETED)).toEqual({ shelved: 0, active: 0, more: false });
    expect(await stateOf(store, id)).toBe("delivered");
  });

  withStore("takes a copy from a worker that is gone, and believes it should it come back", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    const worker = await store.outbox([]);
    const copy = await takeOne(worker, policy);
    await sleep(150);
    expect(await store.shelves().shelve(DELETED), "marked first").toMatchObject({ shelved: 0, active: 1 });
    await sleep(2_100);
    expect(await store.shelves().shelve(DELETED)).toMatchObject({ shelved: 1, active: 0 });
    expect((await store.ledger.event(id))?.copies[0]?.attempts.map(({ action }) => action)).toEqual(["unknown"]);
    expect(await settle(worker, [settlement(copy, "delivered")], policy)).toEqual([]);
    expect(await stateOf(store, id)).toBe("delivered");
    await store.shelves().unshelve(ROUTE);
    expect(await take(worker)).toEqual([]);
  });

  withStore("keeps a copy on the shelf whose late outcome is another try", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    const worker = await store.outbox([]);
    const copy = await takeOne(worker, policy);
    await sleep(150);
    await store.shelves().shelve(DELETED);
    await sleep(2_100);
    await store.shelves().shelve(DELETED);
    await settle(worker, [settlement(copy, "retry", { delayMs: HOUR_MS })], policy);
    expect(await stateOf(store, id)).toBe("shelved");
    await store.shelves().unshelve(ROUTE);
    expect(await stateOf(store, id)).toBe("delayed");
  });

  withStore("lets a budget's clock stand still on the shelf", async (store) => {
    await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const first = await takeOne(worker);
    await settle(worker, [settlement(first, "retry", { delayMs: 1 })]);
    await sleep(20);
    await shelveAll(store);
    await sleep(500);
    await store.shelves().unshelve(ROUTE);
    const again = await takeOne(worker);
    expect(again.firstAttemptAt - first.firstAttemptAt).toBeGreaterThan(450);
    expect(again).toMatchObject({ attempt: 2, used: 2 });
  });

  withStore("puts a dead letter that is replayed, or comes again, on the shelf", async (store) => {
    const ids: string[] = [];
    for (const name of ["replayed", "again"]) {
      ids.push((await store.inbox.claim(newEvent({ mark: mark(name) }))).id);
      const worker = await store.outbox([]);
      await settle(worker, [settlement(await takeOne(worker), "dead")]);
    }
    await shelveAll(store);
    await store.ledger.replay(ids[0] ?? "");
    expect(await store.inbox.claim(newEvent({ mark: mark("again") }))).toEqual({ outcome: "revived", id: ids[1] });
    expect([await stateOf(store, ids[0] ?? ""), await stateOf(store, ids[1] ?? "")]).toEqual(["shelved", "shelved"]);
    await store.shelves().unshelve(ROUTE);
    expect(await take(await store.outbox([]))).toHaveLength(2);
  });

  withStore("knows a redelivery of what lies on the shelf", async (store) => {
    const { id } = await store.inbox.claim(newEvent({ mark: mark("kept") }));
    await shelveAll(store);
    expect(await store.inbox.claim(newEvent({ mark: mark("kept") }))).toEqual({ outcome: "duplicate", id });
  });

  withStore("shelves all again when the route is deleted while it is taken up", async (store) => {
    for (let i = 0; i < 60; i++) await store.inbox.claim(newEvent());
    await shelveAll(store);
    // One page of one record a script, 25 scripts a call: an unshelving that ended in the middle.
    expect(await store.shelves(1).unshelve(ROUTE)).toEqual({ unshelved: 25, more: true });
    expect(await shelveAll(store)).toBe(25);
    expect(await store.shelves().orphans()).toMatchObject([{ events: 60 }]);
  });

  withStore("shelves in bounded steps that any process goes on with", async (store) => {
    for (let i = 0; i < 60; i++) await store.inbox.claim(newEvent());
    expect(await store.shelves(1).shelve(DELETED)).toEqual({ shelved: 25, active: 0, more: true });
    expect(await store.shelves(1).shelve(DELETED)).toEqual({ shelved: 25, active: 0, more: true });
    expect(await store.shelves().shelve(DELETED)).toEqual({ shelved: 10, active: 0, more: false });
  });

  withStore("purges nothing before its time, and nothing of a route that lives", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    expect(await store.shelves().purge(ROUTE, 0)).toBeUndefined();
    await shelveAll(store);
    expect(await store.shelves().purge(ROUTE, HOUR_MS)).toBeUndefined();
    await store.shelves().unshelve(ROUTE);
    expect(await store.shelves().purge(ROUTE, 0)).toBeUndefined();
    expect(await stateOf(store, id)).toBe("waiting");
  });

  withStore("purges records, dead letters and marks, and says how many", async (store) => {
    const worker = await store.outbox([]);
    await store.inbox.claim(newEvent({ mark: mark("dead") }));
    await settle(worker, [settlement(await takeOne(worker), "dead")]);
    await store.inbox.claim(newEvent());
    await settle(worker, [settlement(await takeOne(worker), "delivered")]);
    const ids: string[] = [];
    for (let i = 0; i < 60; i++) ids.push((await store.inbox.claim(newEvent({ mark: mark(`n${i}`) }))).id);
    const inFlight = await takeOne(worker, destinationPolicy({ limit: 1 }));
    await shelveAll(store);
    expect(await store.shelves(1).purge(ROUTE, 0)).toMatchObject({ records: 25, more: true });
    const result = { records: 62, undelivered: 60, deadLetters: 1, unreadable: 0, more: false };
    expect(await store.shelves().purge(ROUTE, 0)).toEqual(result);
    expect(await settle(worker, [settlement(inFlight, "delivered")]), "ends without effect").toEqual([]);
    expect((await store.operations.events({ route: ROUTE, limit: 10 })).items).toEqual([]);
    expect((await store.operations.deadLetters({ limit: 10 })).items).toEqual([]);
    expect([await store.shelves().orphans(), await store.shelves().routes()]).toEqual([[], []]);
    expect((await store.inbox.claim(newEvent({ mark: mark("n1") }))).outcome).toBe("new");
    expect(await takeOne(worker)).toMatchObject({ attempt: 1 });
  });

  withStore("gives the records of one key to another: names, log, dead letters, order", async (store) => {
    const worker = await store.outbox([]);
    const dead = await store.inbox.claim(newEvent());
    await settle(worker, [settlement(await takeOne(worker), "dead")]);
    const retried = await store.inbox.claim(newEvent());
    await settle(worker, [settlement(await takeOne(worker), "retry", { delayMs: HOUR_MS })]);
    const waiting: string[] = [];
    for (let i = 0; i < 30; i++) waiting.push((await store.inbox.claim(newEvent())).id);
    const policy = routePolicy({ route: OTHER_ROUTE });
    const destination = `${OTHER_ROUTE}/orders`;
    // Lanes go by the millisecond; within one, each route counts by itself.
    await sleep(5);
    const own = await store.inbox.claim(newEvent({ policy, destinations: [{ destination, limit: 16 }] }));
    let [records, more] = [0, true];
    while (more) {
      const step = await store.shelves(1).adopt(ROUTE, OTHER_ROUTE);
      expect(step.left).toBe(0);
      records += step.records;
      more = step.more;
    }
    expect(records).toBe(32);
    expect(await store.shelves().routes()).toEqual([OTHER_ROUTE]);
    expect(await store.shelves().orphans()).toEqual([]);
    const taken = await take(worker, destinationPolicy({ destination, policy, limit: 50 }), 50);
    expect(taken.map(({ eventId }) => eventId)).toEqual([...waiting, own.id]);
    expect(taken[0]?.body.toString()).toBe('{"n":1}');
    const { items } = await store.operations.deadLetters({ route: OTHER_ROUTE, limit: 10 });
    expect(items).toMatchObject([{ eventId: dead.id, destination, failureContext: { attempts: 1, lastStatus: 200 } }]);
    expect(await store.ledger.event(retried.id)).toMatchObject({
      route: OTHER_ROUTE,
      copies: [{ destination, state: "delayed", attempts: [{ action: "retry" }] }],
    });
    expect(await store.ledger.replay(dead.id)).toEqual({ replayed: 1 });
  });

  withStore("adopts what a running attempt holds only when that has ended", async (store) => {
    await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const copy = await takeOne(worker);
    expect(await store.shelves().adopt(ROUTE, OTHER_ROUTE)).toEqual({ records: 0, left: 1, more: false });
    await settle(worker, [settlement(copy, "retry", { delayMs: 1 })]);
    expect(await store.shelves().adopt(ROUTE, OTHER_ROUTE)).toEqual({ records: 1, left: 0, more: false });
    const destination = `${OTHER_ROUTE}/orders`;
    await sleep(20);
    expect(await takeOne(worker, destinationPolicy({ destination }))).toMatchObject({ attempt: 2 });
  });

  withStore("adopts onto the shelf of a route that is deleted itself", async (store) => {
    const policy = routePolicy({ route: OTHER_ROUTE });
    const destination = `${OTHER_ROUTE}/orders`;
    await store.inbox.claim(newEvent({ policy, destinations: [{ destination, limit: 1 }] }));
    await shelveAll(store, { route: OTHER_ROUTE, name: "new", namespaceUid: "uid-2" });
    const { id } = await store.inbox.claim(newEvent());
    await store.shelves().adopt(ROUTE, OTHER_ROUTE);
    expect(await stateOf(store, id)).toBe("shelved");
    expect(await store.shelves().unshelve(OTHER_ROUTE)).toEqual({ unshelved: 2, more: false });
  });

  withStore("refuses to adopt a route's events to itself", async ({ shelves }) => {
    await expect(shelves().adopt(ROUTE, ROUTE)).rejects.toThrow(RangeError);
  });

  withStore("are kept by rounds: shelved, taken up, purged with a report", async (store) => {
    const shelves = store.shelves();
    const options = { live: new Set<string>(), deleted: [DELETED], retentionMs: HOUR_MS };
    await store.inbox.claim(newEvent());
    expect(await keepShelves(shelves, options)).toMatchObject({ shelved: 1, purged: [], orphans: [{ events: 1 }] });
    await store.inbox.claim(newEvent());
    expect(await keepShelves(shelves, { ...options, deleted: [] }), "known by its shelf").toMatchObject({ shelved: 1 });
    expect(await keepShelves(shelves, { ...options, live: new Set([ROUTE]) })).toMatchObject({
      unshelved: 2,
      orphans: [],
    });
    expect(await keepShelves(shelves, { ...options, mayWrite: () => false })).toMatchObject({
      shelved: 0,
      orphans: [],
    });
    const purge = await keepShelves(shelves, { ...options, purgeNow: new Set([ROUTE]) });
    expect(purge).toMatchObject({ shelved: 2, orphans: [] });
    expect(purge.purged).toEqual([
      {
        route: ROUTE,
        name: "orders",
        namespaceUid: "uid-1",
        records: 2,
        undelivered: 2,
        deadLetters: 0,
        unreadable: 0,
        more: false,
      },
    ]);
    expect((await keepShelves(shelves, { ...options, purgeNow: new Set([ROUTE]) })).purged, "told once").toEqual([]);
  });
}
