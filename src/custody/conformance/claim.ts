import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import {
  type Open,
  DESTINATION,
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

/** The `claim` part of the suite. */
export function claimConformance(open: Open): void {
  const withStore = storeTest(open);
  withStore("makes one event of 200 concurrent copies of a delivery", async ({ inbox, outbox, ledger }) => {
    const results = await Promise.all(Array.from({ length: 200 }, () => inbox.claim(newEvent({ mark: mark("one") }))));
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
    "refuses another body under an id that is good for one, while the first waits and after it was delivered",
    async ({ inbox, outbox, ledger }) => {
      const claim = (body: string) => {
        const bodyHash = createHash("sha256").update(body).digest().subarray(0, 8);
        return inbox.claim(newEvent({ mark: mark("one body", { bodyHash, oneBody: true }) }));
      };
      const [first, other, same] = await Promise.all([claim("a"), claim("b"), claim("a")]);
      expect([first.outcome, other.outcome]).toEqual(["new", "reused"]);
      expect(same).toEqual({ outcome: "duplicate", id: first.id });
      expect(await ledger.event(other.id)).toBeUndefined();
      const worker = await outbox([]);
      await settle(worker, [settlement(await takeOne(worker), "delivered")]);
      expect((await claim("b")).outcome).toBe("reused");
      expect(await claim("a")).toEqual({ outcome: "duplicate", id: first.id });
      expect(await take(worker)).toEqual([]);
    },
  );

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
}
