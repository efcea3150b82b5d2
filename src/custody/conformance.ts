import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ulid } from "ulid";
import { describe, expect, test } from "vitest";
import type {
  DedupeMark,
  DestinationPolicy,
  Inbox,
  Ledger,
  NewEvent,
  Outbox,
  RoutePolicy,
  Settle,
  TakenCopy,
} from "./port.ts";

/** One namespace of a store under test. Outboxes of different processes differ in their token. */
export interface ConformanceStore {
  readonly inbox: Inbox;
  readonly ledger: Ledger;
  outbox(policies: readonly RoutePolicy[]): Promise<Outbox>;
  close(): Promise<void>;
}

const ROUTE = "00000000000000aa";
const DESTINATION = `${ROUTE}/orders`;
/** A lease is timeout + 5 s: this one runs out after 100 ms, so that tests need not wait. */
const SHORT_LEASE_TIMEOUT_MS = -4_900;

const DAY_MS = 86_400_000;
export const routePolicy = (change: Partial<RoutePolicy> = {}): RoutePolicy => ({
  route: ROUTE,
  windowMs: 7 * DAY_MS,
  earlierWindows: [],
  retention: { deliveredMs: 3 * DAY_MS, deadLettersMs: 30 * DAY_MS, maxEvents: 10_000, keepBodies: false },
  ...change,
});

export const destinationPolicy = (change: Partial<DestinationPolicy> = {}): DestinationPolicy => ({
  destination: DESTINATION,
  policy: routePolicy(),
  limit: 16,
  timeoutMs: 15_000,
  maxAgeMs: 30 * DAY_MS,
  ...change,
});

export const mark = (id: string, change: Partial<DedupeMark> = {}): DedupeMark => ({
  key: createHash("sha256").update(id).digest().subarray(0, 16),
  weak: false,
  ...change,
});

export const newEvent = (change: Partial<NewEvent> = {}): NewEvent => ({
  id: ulid(),
  policy: routePolicy(),
  mark: undefined,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"n":1}'),
  seq: 1,
  destinations: [{ destination: DESTINATION, limit: 16 }],
  ...change,
});

export async function take(outbox: Outbox, policy = destinationPolicy(), want = 16): Promise<readonly TakenCopy[]> {
  const policies = new Map([[policy.destination, policy]]);
  return (await outbox.turn({ settles: [], takes: [{ destination: policy.destination, want }], policies })).copies;
}

export function settlement(copy: TakenCopy, outcome: Settle["outcome"], change: Partial<Settle> = {}): Settle {
  const action = outcome === "delivered" || outcome === "dead" ? outcome : "retry";
  const { destination, eventId, fence, attempt, now } = copy;
  return {
    destination,
    eventId,
    fence,
    outcome,
    record: { attempt, at: now, status: 200, durationMs: 3, action },
    ...change,
  };
}

export async function settle(
  outbox: Outbox,
  settles: readonly Settle[],
  policy = destinationPolicy(),
): Promise<readonly number[]> {
  const policies = new Map([[policy.destination, policy]]);
  return (await outbox.turn({ settles, takes: [], policies })).fenced;
}

async function takeOne(outbox: Outbox, policy = destinationPolicy()): Promise<TakenCopy> {
  const [copy, ...others] = await take(outbox, policy);
  if (copy === undefined || others.length > 0)
    throw new Error(`expected one copy, got ${others.length + (copy ? 1 : 0)}`);
  return copy;
}

/** What every implementation of the custody port does. `open` gives a namespace of its own to each test. */
export function custodyConformance(open: () => Promise<ConformanceStore>): void {
  const withStore = (name: string, body: (store: ConformanceStore) => Promise<void>) =>
    test(name, async () => {
      const store = await open();
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });

  describe("claim", () => {
    withStore("makes one event of 200 concurrent copies of a delivery", async ({ inbox, outbox, ledger }) => {
      const results = await Promise.all(
        Array.from({ length: 200 }, () => inbox.claim(newEvent({ mark: mark("one") }))),
      );
      const fresh = results.filter(({ outcome }) => outcome === "new");
      expect(fresh).toHaveLength(1);
      expect(new Set(results.map(({ id }) => id))).toEqual(new Set([fresh[0]?.id]));
      expect(await take(await outbox([]), destinationPolicy({ limit: 300 }), 300)).toHaveLength(1);
      expect((await ledger.event(fresh[0]?.id ?? ""))?.duplicates).toBe(199);
    });

    withStore("knows its own event again when a batch is repeated", async ({ inbox, outbox }) => {
      for (const dedupe of [undefined, mark("again")]) {
        const event = newEvent({ mark: dedupe });
        expect([await inbox.claim(event), await inbox.claim(event)]).toEqual([
          { outcome: "new", id: event.id },
          { outcome: "new", id: event.id },
        ]);
      }
      expect(await take(await outbox([]))).toHaveLength(2);
    });

    withStore("accepts the same bytes twice when there is no mark", async ({ inbox, outbox }) => {
      await inbox.claim(newEvent());
      await inbox.claim(newEvent());
      expect(await take(await outbox([]))).toHaveLength(2);
    });

    withStore(
      "forgets a strong mark when its window has passed, but never while a copy is live",
      async ({ inbox, outbox }) => {
        const policy = routePolicy({ windowMs: 200 });
        const destination = destinationPolicy({ policy });
        const claim = () => inbox.claim(newEvent({ policy, mark: mark("windowed") }));
        const first = await claim();
        await sleep(450);
        expect(await claim()).toEqual({ outcome: "duplicate", id: first.id });
        const worker = await outbox([]);
        await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
        expect((await claim()).outcome).toBe("new");
      },
    );

    withStore("remembers a delivered event inside its window", async ({ inbox, outbox }) => {
      const first = await inbox.claim(newEvent({ mark: mark("delivered") }));
      const worker = await outbox([]);
      await settle(worker, [settlement(await takeOne(worker), "delivered")]);
      expect(await inbox.claim(newEvent({ mark: mark("delivered") }))).toEqual({ outcome: "duplicate", id: first.id });
    });

    withStore("ends a weak mark with its window although its event is still queued", async ({ inbox }) => {
      const policy = routePolicy({ windowMs: 200 });
      const claim = () => inbox.claim(newEvent({ policy, mark: mark("weak", { weak: true }) }));
      await claim();
      expect((await claim()).outcome).toBe("duplicate");
      await sleep(450);
      expect((await claim()).outcome).toBe("new");
    });

    withStore("looks into the earlier window after an edit, judging by the new one", async ({ inbox, outbox }) => {
      const short = routePolicy({ windowMs: 60_000 });
      const first = await inbox.claim(newEvent({ policy: short, mark: mark("edited") }));
      const worker = await outbox([]);
      const destination = destinationPolicy({ policy: short });
      await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
      const edited = routePolicy({
        windowMs: 3_600_000,
        earlierWindows: [{ windowMs: 60_000, until: Date.now() + 60_000 }],
      });
      expect(await inbox.claim(newEvent({ policy: edited, mark: mark("edited") }))).toEqual({
        outcome: "duplicate",
        id: first.id,
      });
    });

    withStore("takes another body under an unsigned id for another event", async ({ inbox }) => {
      const claim = (body: string) =>
        inbox.claim(
          newEvent({ mark: mark("unsigned", { bodyHash: createHash("sha256").update(body).digest().subarray(0, 8) }) }),
        );
      const a = await claim("a");
      const b = await claim("b");
      expect([a.outcome, b.outcome]).toEqual(["new", "new"]);
      expect(await claim("a")).toEqual({ outcome: "duplicate", id: a.id });
      expect(await claim("b")).toEqual({ outcome: "duplicate", id: b.id });
    });

    withStore(
      "gives each destination its own copy and keeps the body until all have it",
      async ({ inbox, outbox, ledger }) => {
        const other = `${ROUTE}/billing`;
        const destinations = [DESTINATION, other].map((destination) => ({ destination, limit: 4 }));
        const { id } = await inbox.claim(newEvent({ destinations }));
        const worker = await outbox([]);
        const second = destinationPolicy({ destination: other });
        await settle(worker, [settlement(await takeOne(worker), "delivered")]);
        expect((await ledger.event(id))?.bodyBytes).toBeGreaterThan(0);
        await settle(worker, [settlement(await takeOne(worker, second), "delivered")], second);
        expect(await ledger.event(id)).toMatchObject({
          bodyBytes: 0,
          copies: [{ state: "delivered" }, { state: "delivered" }],
        });
      },
    );

    withStore("records an event that no destination wants", async ({ inbox, ledger }) => {
      const { id } = await inbox.claim(newEvent({ destinations: [], mark: mark("unwanted") }));
      expect(await ledger.event(id)).toMatchObject({ id, copies: [], bodyBytes: 0 });
      expect(await inbox.claim(newEvent({ destinations: [], mark: mark("unwanted") }))).toEqual({
        outcome: "duplicate",
        id,
      });
    });

    withStore("numbers a route's events so that later ones are greater", async ({ inbox, outbox }) => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push((await inbox.claim(newEvent())).id);
      const copies = await take(await outbox([]));
      expect(copies.map(({ eventId }) => eventId)).toEqual(ids);
      const sequences = copies.map(({ sequence }) => sequence);
      expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      expect(new Set(sequences).size).toBe(5);
    });
  });

  describe("turn", () => {
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

    withStore("buries a copy whose worker was lost five times in a row", async ({ inbox, outbox, ledger }) => {
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
      expect((await ledger.deadLetters({ limit: 10 })).items).toMatchObject([
        { eventId: id, destination: DESTINATION },
      ]);
    });

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

    withStore("expires a copy that grew too old before it was taken", async ({ inbox, outbox, ledger }) => {
      const { id } = await inbox.claim(newEvent());
      await sleep(30);
      expect(await take(await outbox([]), destinationPolicy({ maxAgeMs: 10 }))).toHaveLength(0);
      expect(await ledger.event(id)).toMatchObject({ bodyBytes: 7, copies: [{ state: "expired" }] });
    });
  });

  describe("dead letters", () => {
    const die = async (store: ConformanceStore, event = newEvent()) => {
      const { id } = await store.inbox.claim(event);
      const worker = await store.outbox([]);
      const record = { attempt: 1, at: 1, status: 404, response: "nope", action: "dead" as const, reason: "Status404" };
      await settle(worker, [settlement(await takeOne(worker), "dead", { record })]);
      return { id, worker };
    };

    withStore("keeps the body and says why", async (store) => {
      const { id } = await die(store);
      const { items } = await store.ledger.deadLetters({ route: ROUTE, limit: 10 });
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
      const first = await store.ledger.deadLetters({ limit: 2 });
      const second = await store.ledger.deadLetters({ limit: 2, cursor: first.next ?? "" });
      expect([...first.items, ...second.items].map(({ eventId }) => eventId)).toEqual(ids);
      expect(second.next).toBeUndefined();
    });

    withStore("are replayed under the same id with a fresh budget, after what waits in the lane", async (store) => {
      const { id, worker } = await die(store);
      const waiting = await store.inbox.claim(newEvent());
      expect(await store.ledger.replay(id)).toEqual({ replayed: 1 });
      expect(await store.ledger.replay(id), "a second time there is nothing dead").toEqual({ replayed: 0 });
      expect((await store.ledger.deadLetters({ limit: 10 })).items).toEqual([]);
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
  });

  describe("retention", () => {
    const retained = (retention: Partial<RoutePolicy["retention"]>) =>
      routePolicy({ retention: { ...routePolicy().retention, ...retention } });

    withStore(
      "removes the oldest delivered beyond maxEvents, never a live or dead one",
      async ({ inbox, outbox, ledger }) => {
        const policy = retained({ maxEvents: 3 });
        const destination = destinationPolicy({ policy });
        const worker = await outbox([]);
        const ids: string[] = [];
        for (let i = 0; i < 6; i++) {
          ids.push((await inbox.claim(newEvent({ policy }))).id);
          const outcome = i === 0 ? "dead" : "delivered";
          await settle(worker, [settlement(await takeOne(worker, destination), outcome)], destination);
        }
        const waiting = await inbox.claim(newEvent({ policy }));
        const left = (await ledger.events(ROUTE, 10)).map(({ id }) => id).toReversed();
        expect(left).toEqual([ids[0], ids[5], waiting.id]);
      },
    );

    withStore("removes a late one that the sweep had passed", async ({ inbox, outbox, ledger }) => {
      const policy = retained({ maxEvents: 2 });
      const destination = destinationPolicy({ policy });
      for (let i = 0; i < 8; i++) await inbox.claim(newEvent({ policy }));
      const worker = await outbox([]);
      const copies = await take(worker, destination);
      await settle(
        worker,
        copies.map((copy) => settlement(copy, "delivered")),
        destination,
      );
      expect((await ledger.events(ROUTE, 10)).length).toBeLessThanOrEqual(2);
    });

    withStore("removes what is older than its time as new events come in", async ({ inbox, outbox, ledger }) => {
      const policy = retained({ deliveredMs: 100 });
      const destination = destinationPolicy({ policy });
      const { id } = await inbox.claim(newEvent({ policy }));
      const worker = await outbox([]);
      await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
      await sleep(200);
      await inbox.claim(newEvent({ policy }));
      expect(await ledger.event(id)).toBeUndefined();
    });

    withStore("keeps bodies when told to", async ({ inbox, outbox, ledger }) => {
      const policy = retained({ keepBodies: true });
      const destination = destinationPolicy({ policy });
      const { id } = await inbox.claim(newEvent({ policy }));
      const worker = await outbox([]);
      await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
      expect((await ledger.event(id))?.bodyBytes).toBe(7);
    });
  });

  describe("tickets", () => {
    /** A worker that drains as `delivery` does, settling everything as delivered. */
    const drainAll = async (outbox: Outbox, seen: string[], policy = destinationPolicy()) => {
      const stop = await outbox.start({
        onHint: () => undefined,
        onTicket: async (ticket) => {
          const policies = new Map([[policy.destination, policy]]);
          let started: number | undefined = ticket.generation;
          do {
            const takes = [{ destination: policy.destination, want: 16, ...(started !== undefined && { started }) }];
            const { copies } = await outbox.turn({ settles: [], takes, policies });
            started = undefined;
            seen.push(...copies.map(({ eventId }) => eventId));
            await settle(
              outbox,
              copies.map((copy) => settlement(copy, "delivered")),
              policy,
            );
          } while ((await outbox.done(ticket, policy)) === "more");
        },
      });
      return stop;
    };
    const until = async (met: () => boolean, ms: number) => {
      for (const end = Date.now() + ms; !met() && Date.now() < end; ) await sleep(10);
      return met();
    };

    withStore("reach a worker for work that comes before and after its start", async ({ inbox, outbox }) => {
      const before = await inbox.claim(newEvent());
      const seen: string[] = [];
      const stop = await drainAll(await outbox([routePolicy()]), seen);
      expect(await until(() => seen.includes(before.id), 5_000)).toBe(true);
      for (let i = 0; i < 3; i++) {
        const next = await inbox.claim(newEvent());
        expect(await until(() => seen.includes(next.id), 5_000)).toBe(true);
      }
      await stop();
      expect(seen).toHaveLength(4);
    });

    withStore("wake a destination when its delayed copy is due", async ({ inbox, outbox }) => {
      const { id } = await inbox.claim(newEvent());
      const first = await outbox([]);
      await settle(first, [settlement(await takeOne(first), "retry", { delayMs: 700 })]);
      const seen: string[] = [];
      const stop = await drainAll(await outbox([routePolicy()]), seen);
      expect(await until(() => seen.includes(id), 6_000)).toBe(true);
      await stop();
    });

    withStore("are left fresh by a worker that gives its destination up", async ({ inbox, outbox }) => {
      await inbox.claim(newEvent());
      const first = await outbox([routePolicy()]);
      let yielded = false;
      const stopFirst = await first.start({
        onHint: () => undefined,
        onTicket: async (ticket) => {
          yielded = true;
          await first.yield(ticket);
        },
      });
      expect(await until(() => yielded, 5_000)).toBe(true);
      await stopFirst();
      const seen: string[] = [];
      const stop = await drainAll(await outbox([routePolicy()]), seen);
      expect(await until(() => seen.length === 1, 5_000)).toBe(true);
      await stop();
    });
  });

  describe("stats", () => {
    withStore("count a destination's copies by state, with ages", async ({ inbox, outbox, ledger }) => {
      for (let i = 0; i < 4; i++) await inbox.claim(newEvent());
      const worker = await outbox([]);
      const [a, b, c] = await take(worker, destinationPolicy(), 3);
      await settle(worker, [
        settlement(a as TakenCopy, "dead"),
        settlement(b as TakenCopy, "retry", { delayMs: 60_000 }),
      ]);
      await sleep(120);
      const stats = await ledger.stats([DESTINATION, "absent"]);
      expect(stats.get(DESTINATION)).toMatchObject({ waiting: 1, active: 1, delayed: 1, dead: 1 });
      expect(stats.get(DESTINATION)?.oldestWaitingSeconds).toBeGreaterThan(0.1);
      expect(stats.get(DESTINATION)?.oldestDelayedSeconds).toBeGreaterThan(0.1);
      expect(stats.get("absent")).toEqual({
        waiting: 0,
        active: 0,
        delayed: 0,
        dead: 0,
        oldestWaitingSeconds: 0,
        oldestDelayedSeconds: 0,
      });
      expect(c?.eventId).toBeDefined();
    });

    withStore("keep the last 100 refusals of a route", async ({ inbox, ledger }) => {
      for (let i = 0; i < 105; i++) {
        inbox.reject({
          route: ROUTE,
          at: i,
          client: "127.0.0.1",
          status: 401,
          reason: "SignatureMismatch",
          headerNames: ["x"],
          bodyBytes: 2,
          bodySha256: "",
        });
      }
      await inbox.claim(newEvent());
      const kept = await ledger.rejections(ROUTE);
      expect([kept.length, kept[0]?.at, kept.at(-1)?.at]).toEqual([100, 104, 5]);
    });
  });
}
