import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { CursorExpired } from "../operations.ts";
import type { NewEvent, RoutePolicy, Settle } from "../port.ts";
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
  take,
  storeTest,
} from "./fixtures.ts";

const OTHER = `${ROUTE}/billing`;
const retained = (retention: Partial<RoutePolicy["retention"]>) =>
  routePolicy({ retention: { ...routePolicy().retention, ...retention } });

/** Accepts an event and has its copy end in a way. */
export async function ended(
  store: ConformanceStore,
  outcome: Settle["outcome"],
  change: Partial<NewEvent> = {},
  reason = "Status404",
): Promise<string> {
  const { id } = await store.inbox.claim(newEvent(change));
  const policy = destinationPolicy({ policy: change.policy ?? routePolicy() });
  const worker = await store.outbox([]);
  const copies = (await take(worker, policy)).filter(({ eventId }) => eventId === id);
  const record = (attempt: number) => ({ attempt, at: 1, status: 404, action: "dead" as const, reason });
  await settle(
    worker,
    copies.map((copy) => settlement(copy, outcome, { record: record(copy.attempt) })),
    policy,
  );
  return id;
}

/** Lists with filters, and list-events by sequence. */
export function listsConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("lists events newest first by state, type, destination and time", async (store) => {
    const dead = await ended(store, "dead", { eventType: "invoice.paid" });
    await sleep(3);
    const between = Date.now();
    await sleep(3);
    const delivered = await ended(store, "delivered", { eventType: "invoice.sent" });
    const waiting = (
      await store.inbox.claim(newEvent({ eventType: "user.new", destinations: [{ destination: OTHER, limit: 1 }] }))
    ).id;
    const ids = async (filter: object) =>
      (await store.operations.events({ route: ROUTE, limit: 10, ...filter })).items.map(({ id }) => id);
    expect(await ids({})).toEqual([waiting, delivered, dead]);
    expect(await ids({ state: "dead" })).toEqual([dead]);
    expect(await ids({ state: "waiting" })).toEqual([waiting]);
    expect(await ids({ state: "waiting", destination: DESTINATION })).toEqual([]);
    expect(await ids({ eventType: "invoice.*" })).toEqual([delivered, dead]);
    expect(await ids({ eventType: "invoice" })).toEqual([]);
    expect(await ids({ destination: OTHER })).toEqual([waiting]);
    expect(await ids({ to: between })).toEqual([dead]);
    expect(await ids({ from: between })).toEqual([waiting, delivered]);
  });

  withStore("gives one event, with headers and body for whoever asks and as long as they are kept", async (store) => {
    const body = Buffer.from([0, 1, 0xff]);
    const event = newEvent({ body, headers: { "x-kind": "a" }, eventType: "user.new" });
    const { id } = await store.inbox.claim(event);
    const plain = await store.operations.event(id);
    expect(plain).toMatchObject({ id, route: ROUTE, bodyBytes: 3, eventType: "user.new" });
    expect(plain).not.toHaveProperty("body");
    expect(plain).not.toHaveProperty("headers");
    expect(await store.operations.event(id, { bodies: true })).toMatchObject({ headers: { "x-kind": "a" }, body });
    const policy = destinationPolicy();
    const worker = await store.outbox([]);
    await settle(
      worker,
      (await take(worker, policy)).map((copy) => settlement(copy, "delivered")),
      policy,
    );
    const delivered = await store.operations.event(id, { bodies: true });
    expect(delivered).toMatchObject({ bodyBytes: 0, copies: [{ state: "delivered" }] });
    expect(delivered).not.toHaveProperty("body");
    expect(await store.operations.event("01ARZ3NDEKTSV4RRFFQ69G5FAV")).toBeUndefined();
  });

  withStore("lists events page by page", async ({ inbox, operations }) => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await inbox.claim(newEvent())).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await operations.events({ route: ROUTE, limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids);
  });

  withStore("pages by sequence without a gap, and goes on where nothing fitted", async ({ inbox, operations }) => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await inbox.claim(newEvent({ eventType: `t${i}` }))).id);
    const first = await operations.eventsAfter({ route: ROUTE, limit: 2 });
    expect(first).toMatchObject({ items: [{ id: ids[0] }, { id: ids[1] }], more: true });
    const second = await operations.eventsAfter({ route: ROUTE, after: first.next, limit: 2 });
    expect(second).toMatchObject({ items: [{ id: ids[2] }], more: false });
    const none = await operations.eventsAfter({ route: ROUTE, after: 0, limit: 2, eventType: "x" });
    expect(none).toMatchObject({ items: [], more: false, next: second.next });
    const { id } = await inbox.claim(newEvent());
    expect((await operations.eventsAfter({ route: ROUTE, after: second.next, limit: 2 })).items).toMatchObject([
      { id },
    ]);
  });

  withStore("gives bodies and headers where they are still kept", async (store) => {
    await ended(store, "delivered");
    await store.inbox.claim(newEvent());
    const { items } = await store.operations.eventsAfter({ route: ROUTE, limit: 10, bodies: true });
    expect(items.map(({ body }) => body?.toString())).toEqual([undefined, '{"n":1}']);
    expect(items[1]?.headers).toEqual({ "content-type": "application/json" });
    const [plain] = (await store.operations.eventsAfter({ route: ROUTE, limit: 1 })).items;
    expect(plain).not.toHaveProperty("headers");
  });

  withStore(
    "refuses a cursor behind which retention removed events, and says from where all is kept",
    async (store) => {
      const policy = retained({ maxEvents: 2 });
      const before = await store.operations.eventsAfter({ route: ROUTE, limit: 1 });
      expect(before).toMatchObject({ items: [], more: false });
      for (let i = 0; i < 5; i++) await ended(store, "delivered", { policy });
      const kept = await store.operations.eventsAfter({ route: ROUTE, limit: 10 });
      const error = await store.operations.eventsAfter({ route: ROUTE, after: 0, limit: 10 }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(CursorExpired);
      const { completeAfter, code } = error as CursorExpired;
      expect(code).toBe("CursorExpired");
      expect(completeAfter).toBeLessThan(kept.items[0]?.sequence ?? 0);
      const resumed = await store.operations.eventsAfter({ route: ROUTE, after: completeAfter, limit: 10 });
      expect(resumed.items.map(({ id }) => id)).toEqual(kept.items.map(({ id }) => id));
      expect((await store.operations.eventsAfter({ route: ROUTE, after: kept.next, limit: 10 })).items).toEqual([]);
    },
  );

  withStore("ends a page of bodies after about a mebibyte, and goes on there", async ({ inbox, operations }) => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push((await inbox.claim(newEvent({ body: Buffer.alloc(600_000, "x") }))).id);
    const first = await operations.eventsAfter({ route: ROUTE, limit: 10, bodies: true });
    expect(first).toMatchObject({ items: [{ id: ids[0] }, { id: ids[1] }], more: true });
    const second = await operations.eventsAfter({ route: ROUTE, after: first.next, limit: 10, bodies: true });
    expect(second).toMatchObject({ items: [{ id: ids[2] }], more: false });
  });

  withStore("refuses a cursor from before another route's events were adopted", async (store) => {
    const to = "00000000000000bb";
    await store.inbox.claim(newEvent());
    await store.inbox.claim(newEvent({ policy: routePolicy({ route: to }) }));
    const { next } = await store.operations.eventsAfter({ route: to, limit: 10 });
    await store.shelves().adopt(ROUTE, to);
    await expect(store.operations.eventsAfter({ route: to, after: next - 1, limit: 10 })).rejects.toThrow(
      CursorExpired,
    );
    expect((await store.operations.eventsAfter({ route: to, limit: 10 })).items).toHaveLength(2);
  });

  withStore("refuses a cursor of a route's former life, whose events were purged", async (store) => {
    await store.inbox.claim(newEvent());
    const { next } = await store.operations.eventsAfter({ route: ROUTE, limit: 10 });
    await store.shelves().shelve({ route: ROUTE, name: "r", namespaceUid: "u" });
    await store.shelves().purge(ROUTE, 0);
    await sleep(3);
    await store.inbox.claim(newEvent());
    await expect(store.operations.eventsAfter({ route: ROUTE, after: next, limit: 10 })).rejects.toThrow(CursorExpired);
    expect((await store.operations.eventsAfter({ route: ROUTE, after: 0, limit: 10 })).items).toHaveLength(1);
  });

  withStore("lists dead letters by reason, type and time of death, with why", async (store) => {
    const first = await ended(store, "dead", { eventType: "a" });
    await sleep(3);
    const between = Date.now();
    await sleep(3);
    const second = await ended(store, "dead", { eventType: "b" }, "AttemptsExhausted");
    const ids = async (filter: object) =>
      (await store.operations.deadLetters({ limit: 10, ...filter })).items.map(({ eventId }) => eventId);
    expect(await ids({})).toEqual([first, second]);
    expect(await ids({ reason: "Status4*" })).toEqual([first]);
    expect(await ids({ reason: "AttemptsExhausted", route: ROUTE })).toEqual([second]);
    expect(await ids({ eventType: "b", destination: DESTINATION })).toEqual([second]);
    expect(await ids({ route: "00000000000000bb", destination: DESTINATION })).toEqual([]);
    expect(await ids({ from: between })).toEqual([second]);
    expect(await ids({ to: between })).toEqual([first]);
    expect((await store.operations.deadLetters({ limit: 1, to: between })).items).toMatchObject([
      { reason: "Status404", eventType: "a", failureContext: { attempts: 1, lastStatus: 404 } },
    ]);
    expect(await store.operations.countDeadLetters({ reason: "Status404" })).toEqual({ count: 1, atLeast: false });
    expect(await store.operations.countDeadLetters({ route: ROUTE, from: between })).toEqual({
      count: 1,
      atLeast: false,
    });
    const page = await store.operations.deadLetters({ limit: 1, route: ROUTE });
    const next = await store.operations.deadLetters({ limit: 1, route: ROUTE, cursor: page.next ?? "" });
    expect(next.items).toMatchObject([{ eventId: second }]);
  });
}

/** Pages of dead letters that died in one turn, at the same time. */
export function deadLetterPagesConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("lists those of one moment page by page, also when the last one seen was replayed", async (store) => {
    for (let i = 0; i < 7; i++) await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const copies = await take(worker);
    await settle(
      worker,
      copies.map((copy) => settlement(copy, "dead")),
    );
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.operations.deadLetters({ limit: 2, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.items.map(({ eventId }) => eventId));
      cursor = page.next;
      await store.ledger.replay(seen.at(-1) ?? "");
    } while (cursor !== undefined);
    expect(seen.toSorted()).toEqual(copies.map(({ eventId }) => eventId).toSorted());
  });
}

/** Discard and cancel. */
export function discardConformance(open: Open): void {
  const withStore = storeTest(open);
  const stateOf = async (store: ConformanceStore, id: string) =>
    (await store.ledger.event(id))?.copies.map(({ state }) => state);

  withStore("discards a dead letter so that a redelivery is a duplicate, and restores it", async (store) => {
    const id = await ended(store, "dead", { mark: mark("gone") });
    const { operations } = store;
    expect(await operations.discard({ eventId: id })).toEqual({ copies: 1, active: 0 });
    expect(await operations.discard({ eventId: id }), "a second time there is nothing dead").toMatchObject({
      copies: 0,
    });
    expect(await stateOf(store, id)).toEqual(["discarded"]);
    expect(await operations.countDeadLetters({})).toEqual({ count: 0, atLeast: false });
    expect(await store.ledger.replay(id)).toEqual({ replayed: 0 });
    expect(await store.inbox.claim(newEvent({ mark: mark("gone") }))).toEqual({ outcome: "duplicate", id });
    expect(await operations.restore({ eventId: id })).toEqual({ copies: 1, active: 0 });
    expect((await store.operations.deadLetters({ limit: 10 })).items).toMatchObject([{ eventId: id }]);
    expect((await store.ledger.body(id))?.toString()).toBe('{"n":1}');
    expect(await store.inbox.claim(newEvent({ mark: mark("gone") }))).toEqual({ outcome: "revived", id });
  });

  withStore("discards and restores by filter, with a preview", async (store) => {
    const kept = await ended(store, "dead", {}, "AttemptsExhausted");
    const gone = await ended(store, "dead");
    const filter = { route: ROUTE, reason: "Status404" };
    expect(await store.operations.countDeadLetters(filter)).toEqual({ count: 1, atLeast: false });
    expect(await store.operations.discard({ filter })).toEqual({ copies: 1, active: 0 });
    expect(await stateOf(store, gone)).toEqual(["discarded"]);
    expect(await stateOf(store, kept)).toEqual(["dead"]);
    expect(await store.operations.restore({ filter: { ...filter, to: 1 } }), "by time of death").toMatchObject({
      copies: 0,
    });
    expect(await store.operations.restore({ filter })).toEqual({ copies: 1, active: 0 });
    expect(await stateOf(store, gone)).toEqual(["dead"]);
  });

  withStore("restores what was discarded before its route's events were adopted by another", async (store) => {
    const to = "00000000000000bb";
    const id = await ended(store, "dead");
    await store.operations.discard({ eventId: id });
    await store.shelves().adopt(ROUTE, to);
    await store.tend([]);
    expect(await store.operations.restore({ filter: { destination: `${to}/orders` } })).toMatchObject({ copies: 1 });
    expect(await stateOf(store, id)).toEqual(["dead"]);
  });

  withStore("keeps what is discarded for as long as it can be restored, whatever retention says", async (store) => {
    const policy = retained({ deadLettersMs: 1, maxEvents: 1 });
    const id = await ended(store, "dead", { policy });
    await store.operations.discard({ eventId: id });
    await sleep(10);
    await store.operations.cancel({ eventId: id });
    await store.tend([policy]);
    expect(await store.operations.restore({ eventId: id })).toMatchObject({ copies: 1 });
  });

  withStore("cancels waiting and delayed copies; a redelivery is a duplicate", async (store) => {
    const event = newEvent({
      mark: mark("stop"),
      destinations: [DESTINATION, OTHER].map((destination) => ({ destination, limit: 4 })),
    });
    const { id } = await store.inbox.claim(event);
    const worker = await store.outbox([]);
    const [copy] = await take(worker);
    if (copy === undefined) throw new Error("nothing was taken");
    await settle(worker, [settlement(copy, "retry", { delayMs: 1 })]);
    expect(await store.operations.countCancellable({ route: ROUTE })).toEqual({ count: 2, atLeast: false });
    expect(await store.operations.cancel({ eventId: id })).toEqual({ copies: 2, active: 0 });
    expect(await store.operations.cancel({ eventId: id })).toEqual({ copies: 0, active: 0 });
    expect(await stateOf(store, id)).toEqual(["cancelled", "cancelled"]);
    const backlogs = await store.ledger.stats([DESTINATION, OTHER]);
    expect([...backlogs.values()]).toMatchObject([
      { waiting: 0, delayed: 0 },
      { waiting: 0, delayed: 0 },
    ]);
    await sleep(5);
    expect(await take(worker)).toEqual([]);
    expect(await take(worker, destinationPolicy({ destination: OTHER }))).toEqual([]);
    expect(await store.inbox.claim({ ...newEvent(), mark: event.mark })).toEqual({ outcome: "duplicate", id });
    await store.tend([routePolicy()]);
    expect(await store.inbox.claim({ ...newEvent(), mark: event.mark })).toEqual({ outcome: "duplicate", id });
    expect((await store.ledger.body(id))?.toString(), "it keeps its body").toBe('{"n":1}');
  });

  withStore("leaves a copy alone whose attempt runs, and says so", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const [copy] = await take(worker);
    expect(await store.operations.cancel({ eventId: id })).toEqual({ copies: 0, active: 1 });
    expect(await store.operations.cancel({ filter: { route: ROUTE } })).toEqual({ copies: 0, active: 1 });
    if (copy !== undefined) expect(await settle(worker, [settlement(copy, "delivered")])).toEqual([]);
    expect(await stateOf(store, id)).toEqual(["delivered"]);
  });

  withStore("refuses the late outcome of a lost worker for a copy that was cancelled since", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const short = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    const [copy] = await take(worker, short);
    if (copy === undefined) throw new Error("nothing was taken");
    await sleep(150);
    await take(worker, short, 0);
    await sleep(2_100);
    await take(worker, short, 0);
    expect(await store.operations.cancel({ eventId: id })).toEqual({ copies: 1, active: 0 });
    expect(await settle(worker, [settlement(copy, "delivered")])).toEqual([0]);
    expect(await stateOf(store, id)).toEqual(["cancelled"]);
  });

  withStore("cancels by destination, type and time only what was there at the first call", async (store) => {
    const old = await store.inbox.claim(newEvent({ eventType: "bulk.mail" }));
    await sleep(3);
    const between = Date.now();
    const spared = await store.inbox.claim(newEvent({ eventType: "invoice" }));
    await sleep(3);
    const late = await store.inbox.claim(newEvent({ eventType: "bulk.mail" }));
    const filter = { destination: DESTINATION, eventType: "bulk.*", to: between };
    expect(await store.operations.cancel({ filter })).toEqual({ copies: 1, active: 0 });
    const states = await Promise.all([old, spared, late].map(({ id }) => stateOf(store, id)));
    expect(states).toEqual([["cancelled"], ["waiting"], ["waiting"]]);
    await expect(store.operations.cancel({ filter: {} })).rejects.toThrow(RangeError);
  });

  withStore("cancels over all routes of a shared destination", async (store) => {
    const shared = "~tenant-1";
    const second = routePolicy({ route: "00000000000000bb" });
    for (const policy of [routePolicy(), second]) {
      await store.inbox.claim(newEvent({ policy, destinations: [{ destination: shared, limit: 1 }] }));
    }
    await store.inbox.claim(newEvent());
    expect(await store.operations.countCancellable({ destination: shared })).toEqual({ count: 2, atLeast: false });
    expect(await store.operations.cancel({ filter: { destination: shared } })).toEqual({ copies: 2, active: 0 });
  });

  withStore("cancels what lies on a deleted route's shelf", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    await store.shelves().shelve({ route: ROUTE, name: "r", namespaceUid: "u" });
    expect(await store.operations.cancel({ eventId: id })).toEqual({ copies: 1, active: 0 });
    expect(await store.shelves().orphans()).toMatchObject([{ route: ROUTE, events: 0 }]);
    expect(await store.shelves().unshelve(ROUTE)).toMatchObject({ unshelved: 0 });
    expect(await stateOf(store, id)).toEqual(["cancelled"]);
  });

  withStore("removes a cancelled event when the time of dead letters is over", async (store) => {
    const policy = retained({ deadLettersMs: 300 });
    const { id } = await store.inbox.claim(newEvent({ policy, mark: mark("c") }));
    await store.operations.cancel({ eventId: id });
    await store.tend([policy]);
    expect(await stateOf(store, id)).toEqual(["cancelled"]);
    await sleep(320);
    await store.tend([policy]);
    expect(await store.ledger.event(id)).toBeUndefined();
  });

  withStore("keeps cancelled events beyond maxEvents, and removes the delivered ones around them", async (store) => {
    const policy = retained({ maxEvents: 2 });
    const { id } = await store.inbox.claim(newEvent({ policy }));
    await store.operations.cancel({ eventId: id });
    await store.tend([policy]);
    const delivered: string[] = [];
    for (let i = 0; i < 4; i++) delivered.push(await ended(store, "delivered", { policy }));
    await store.inbox.claim(newEvent({ policy }));
    const left = (await store.operations.events({ route: ROUTE, limit: 10 })).items.map((event) => event.id);
    expect(left).toContain(id);
    expect(left.filter((one) => delivered.includes(one)).length).toBeLessThanOrEqual(2);
  });
}
