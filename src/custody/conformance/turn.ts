import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { RoutePolicy, TakenCopy } from "../port.ts";
import {
  type Open,
  DESTINATION,
  SHORT_LEASE_TIMEOUT_MS,
  ROUTE,
  destinationPolicy,
  mark,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
  takeOne,
  storeTest,
} from "./fixtures.ts";

/** The `turn` part of the suite. */
export function turnConformance(open: Open): void {
  const withStore = storeTest(open);
  withStore("leases a copy to one process only", async ({ inbox, outbox }) => {
    for (let i = 0; i < 10; i++) await inbox.claim(newEvent());
    const [a, b] = await Promise.all([
      take(await outbox([]), destinationPolicy(), 6),
      take(await outbox([]), destinationPolicy(), 6),
    ]);
    expect(new Set([...(a ?? []), ...(b ?? [])].map(({ eventId }) => eventId)).size).toBe(10);
  });

  withStore("holds the limit over all processes", async ({ inbox, outbox }) => {
    const policy = destinationPolicy({ limit: 3 });
    for (let i = 0; i < 10; i++) await inbox.claim(newEvent());
    const [first, second] = [await outbox([]), await outbox([])];
    const taken = await take(first, policy, 2);
    expect([taken.length, (await take(second, policy, 9)).length]).toEqual([2, 1]);
    await settle(first, [settlement(taken[0] as TakenCopy, "delivered")], policy);
    expect(await take(second, policy, 9)).toHaveLength(1);
  });

  withStore("hands the bytes and headers over untouched", async ({ inbox, outbox }) => {
    const body = Buffer.from([0, 255, 10, 13, 195, 40]);
    const headers = { "content-type": "application/octet-stream", "x-odd": "a\tb é" };
    await inbox.claim(newEvent({ body, headers, eventType: "order.paid", seq: 42 }));
    expect(await takeOne(await outbox([]))).toMatchObject({
      body,
      headers,
      eventType: "order.paid",
      seq: 42,
      attempt: 1,
      used: 1,
    });
  });

  withStore("tells the event's route, and when a copy was made live again", async ({ inbox, outbox }) => {
    const strong = { mark: mark("revived") };
    await inbox.claim(newEvent(strong));
    const worker = await outbox([]);
    const first = await takeOne(worker);
    expect(first).toMatchObject({ route: ROUTE });
    expect(first.revivedAt).toBeUndefined();
    await settle(worker, [settlement(first, "dead")]);
    await inbox.claim(newEvent(strong));
    const again = await takeOne(worker);
    expect(again.revivedAt).toBeGreaterThanOrEqual(first.now);
    expect(again.revivedAt).toBeLessThanOrEqual(again.now);
  });

  withStore(
    "keeps what several routes send to one destination as each of them says",
    async ({ inbox, outbox, ledger }) => {
      const [keeps, drops] = [true, false].map((keepBodies, index) =>
        routePolicy({ route: `00000000000000b${index}`, retention: { ...routePolicy().retention, keepBodies } }),
      ) as [RoutePolicy, RoutePolicy];
      const shared = destinationPolicy({ destination: "~acme" });
      const destinations = [{ destination: "~acme", limit: 16 }];
      const kept = await inbox.claim(newEvent({ policy: keeps, destinations }));
      const dropped = await inbox.claim(newEvent({ policy: drops, destinations }));
      const worker = await outbox([]);
      const copies = await take(worker, shared);
      const policyOf = new Map([keeps, drops].map((policy) => [policy.route, policy]));
      const settles = copies.map((copy) =>
        settlement(copy, "delivered", { policy: policyOf.get(copy.route ?? "") as RoutePolicy }),
      );
      expect(await settle(worker, settles, shared)).toEqual([]);
      expect((await ledger.event(kept.id))?.bodyBytes).toBe(7);
      expect((await ledger.event(dropped.id))?.bodyBytes).toBe(0);
    },
  );

  withStore("lets a copy expire that its route finds too old", async ({ inbox, outbox, ledger }) => {
    const { id } = await inbox.claim(newEvent());
    const worker = await outbox([]);
    const copy = await takeOne(worker);
    const policies = new Map([[DESTINATION, destinationPolicy()]]);
    const record = { attempt: copy.attempt, at: copy.now, action: "expired" } as const;
    const turn = await worker.turn({ settles: [settlement(copy, "expired", { record })], takes: [], policies });
    expect(turn.expired).toBe(1);
    expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "expired", attempts: [{ action: "expired" }] });
    expect(await take(worker)).toHaveLength(0);
  });

  withStore("keeps a reply within 1 MiB, or one body of any size", async ({ inbox, outbox }) => {
    for (const size of [700_000, 700_000, 3_000_000]) await inbox.claim(newEvent({ body: Buffer.alloc(size, 120) }));
    const worker = await outbox([]);
    const sizes: number[][] = [];
    for (let i = 0; i < 3; i++) sizes.push((await take(worker)).map(({ body }) => body.length));
    expect(sizes).toEqual([[700_000], [700_000], [3_000_000]]);
  });

  withStore(
    "takes a retried copy again only when it is due, as the next attempt of the same budget",
    async ({ inbox, outbox, ledger }) => {
      const { id } = await inbox.claim(newEvent());
      const worker = await outbox([]);
      const first = await takeOne(worker);
      await settle(worker, [settlement(first, "retry", { delayMs: 300 })]);
      expect(await take(worker)).toHaveLength(0);
      expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "delayed" });
      await sleep(400);
      const second = await takeOne(worker);
      expect(second).toMatchObject({ attempt: 2, used: 2 });
      expect(second.firstAttemptAt - first.firstAttemptAt).toBeLessThan(150);
    },
  );

  withStore("does not let time in a lane count against the budget", async ({ inbox, outbox }) => {
    await inbox.claim(newEvent());
    const worker = await outbox([]);
    const first = await takeOne(worker);
    await settle(worker, [settlement(first, "handedBack")]);
    const again = await takeOne(worker);
    await settle(worker, [settlement(again, "retry", { delayMs: 0 })]);
    await sleep(300);
    expect((await takeOne(worker)).firstAttemptAt - again.firstAttemptAt).toBeGreaterThan(250);
  });

  withStore("does not count an attempt that was handed back", async ({ inbox, outbox, ledger }) => {
    const { id } = await inbox.claim(newEvent());
    const worker = await outbox([]);
    await settle(worker, [settlement(await takeOne(worker), "handedBack")]);
    expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "waiting", attempts: [] });
    expect(await takeOne(worker)).toMatchObject({ attempt: 1, used: 1, fence: 2 });
  });

  withStore("leaves a parked copy alone until its time, uncounted", async ({ inbox, outbox }) => {
    await inbox.claim(newEvent());
    const worker = await outbox([]);
    await settle(worker, [settlement(await takeOne(worker), "parked", { delayMs: 200 })]);
    expect(await take(worker)).toHaveLength(0);
    await sleep(300);
    expect(await takeOne(worker)).toMatchObject({ attempt: 1, used: 1 });
  });

  withStore("settles the same outcome twice without harm", async ({ inbox, outbox, ledger }) => {
    const { id } = await inbox.claim(newEvent());
    const worker = await outbox([]);
    const copy = await takeOne(worker);
    for (let i = 0; i < 2; i++)
      expect(await settle(worker, [settlement(copy, "retry", { delayMs: 60_000 })])).toEqual([]);
    expect((await ledger.stats([DESTINATION])).get(DESTINATION)).toMatchObject({ waiting: 0, active: 0, delayed: 1 });
    expect((await ledger.event(id))?.copies[0]?.attempts).toHaveLength(1);
  });

  withStore(
    "returns a lost worker's copy as unknown, and takes a late outcome while nobody has it",
    async ({ inbox, outbox, ledger }) => {
      const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
      const { id } = await inbox.claim(newEvent());
      const [dead, alive] = [await outbox([]), await outbox([])];
      const lost = await takeOne(dead, policy);
      await sleep(200);
      expect(await take(alive, policy), "marked, not yet returned").toHaveLength(0);
      await sleep(2_100);
      expect(await take(alive, policy, 0)).toHaveLength(0);
      expect((await ledger.event(id))?.copies[0]).toMatchObject({
        state: "waiting",
        attempts: [{ attempt: 1, action: "unknown" }],
      });
      expect(await settle(dead, [settlement(lost, "delivered")], policy)).toEqual([]);
      expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "delivered" });
      expect(await take(alive, policy)).toHaveLength(0);
    },
  );

  withStore("refuses a late outcome once somebody else has the copy", async ({ inbox, outbox, ledger }) => {
    const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    const { id } = await inbox.claim(newEvent());
    const [dead, alive] = [await outbox([]), await outbox([])];
    const lost = await takeOne(dead, policy);
    await sleep(200);
    await take(alive, policy, 0);
    await sleep(2_100);
    expect(await takeOne(alive, policy)).toMatchObject({ attempt: 2, fence: 2 });
    expect(await settle(dead, [settlement(lost, "delivered")], policy)).toEqual([0]);
    expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "active" });
  });

  withStore(
    "buries a copy whose worker was lost five times in a row",
    async ({ inbox, outbox, ledger, operations }) => {
      const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
      const { id } = await inbox.claim(newEvent());
      const worker = await outbox([]);
      for (let i = 0; i < 5; i++) {
        await takeOne(worker, policy);
        await sleep(150);
        await take(worker, policy, 0);
        await sleep(2_050);
        await take(worker, policy, 0);
      }
      expect((await ledger.event(id))?.copies[0]).toMatchObject({ state: "dead" });
      expect((await operations.deadLetters({ limit: 10 })).items).toMatchObject([
        { eventId: id, destination: DESTINATION },
      ]);
    },
  );

  withStore("returns copies of a lost answer to the lane and leaves those in flight", async ({ inbox, outbox }) => {
    for (let i = 0; i < 3; i++) await inbox.claim(newEvent());
    const worker = await outbox([]);
    const [known, ...lost] = await take(worker);
    const policies = new Map([[DESTINATION, destinationPolicy()]]);
    const inFlight = [{ eventId: known?.eventId ?? "", fence: known?.fence ?? 0 }];
    const turn = await worker.turn({
      settles: [],
      takes: [{ destination: DESTINATION, want: 9 }],
      policies,
      adopt: new Map([[DESTINATION, inFlight]]),
    });
    expect(turn.copies.map(({ eventId, attempt }) => [eventId, attempt])).toEqual(
      lost.map(({ eventId }) => [eventId, 1]),
    );
  });

  withStore("adopting leaves a copy alone that is here twice, with its old attempt and its new one", async (store) => {
    const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    await store.inbox.claim(newEvent());
    const worker = await store.outbox([]);
    const old = await takeOne(worker, policy);
    await sleep(150);
    await take(worker, policy, 0);
    await sleep(2_050);
    const fresh = await takeOne(worker, destinationPolicy());
    const held = [fresh, old].map(({ eventId, fence }) => ({ eventId, fence }));
    const turn = await worker.turn({
      settles: [],
      takes: [{ destination: DESTINATION, want: 9 }],
      policies: new Map([[DESTINATION, destinationPolicy()]]),
      adopt: new Map([[DESTINATION, held]]),
    });
    expect(turn.copies).toEqual([]);
    expect(await settle(worker, [settlement(fresh, "delivered")])).toEqual([]);
  });

  withStore("expires a copy that grew too old before it was taken", async ({ inbox, outbox, ledger }) => {
    const { id } = await inbox.claim(newEvent());
    await sleep(30);
    expect(await take(await outbox([]), destinationPolicy({ maxAgeMs: 10 }))).toHaveLength(0);
    expect(await ledger.event(id)).toMatchObject({ bodyBytes: 7, copies: [{ state: "expired" }] });
  });
}
