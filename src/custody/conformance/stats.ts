import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Backlog } from "../backlog.ts";
import type { Ledger, TakenCopy } from "../port.ts";
import {
  type Open,
  DESTINATION,
  ROUTE,
  destinationPolicy,
  newEvent,
  settle,
  settlement,
  take,
  storeTest,
} from "./fixtures.ts";

/** The `stats` part of the suite. */
export function statsConformance(open: Open): void {
  const withStore = storeTest(open);
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

  withStore("know when something was delivered last, to each destination", async ({ inbox, outbox, ledger }) => {
    await inbox.claim(newEvent());
    await inbox.claim(newEvent());
    const worker = await outbox([]);
    const [a, b] = await take(worker, destinationPolicy(), 2);
    await settle(worker, [settlement(a as TakenCopy, "dead")]);
    expect((await ledger.stats([DESTINATION])).get(DESTINATION)).not.toHaveProperty("deliveredSecondsAgo");
    await settle(worker, [settlement(b as TakenCopy, "delivered")]);
    await sleep(120);
    const stats = await ledger.stats([DESTINATION, "absent"]);
    expect(stats.get(DESTINATION)?.deliveredSecondsAgo).toBeGreaterThan(0.1);
    expect(stats.get(DESTINATION)?.deliveredSecondsAgo).toBeLessThan(60);
    expect(stats.get("absent")).not.toHaveProperty("deliveredSecondsAgo");
  });

  withStore(
    "tell what lies for WebhookDestinations, also those that no worker ever took from, as a recount says",
    async (store) => {
      const { inbox, outbox, ledger } = store;
      const names = Array.from({ length: 70 }, (_, n) => `~d${n}`);
      // Of a route's own destination it says nothing.
      await inbox.claim(newEvent());
      for (let from = 0; from < names.length; from += 32) {
        const destinations = names.slice(from, from + 32).map((destination) => ({ destination, limit: 1 }));
        await inbox.claim(newEvent({ destinations }));
      }
      const worker = await outbox([]);
      const ends = ["delivered", "retry", "dead"] as const;
      for (const [n, outcome] of ends.entries()) {
        const policy = destinationPolicy({ destination: `~d${n}` });
        const { copies } = await worker.turn({
          settles: [],
          takes: [{ destination: `~d${n}`, want: 1, started: 0 }],
          policies: new Map([[`~d${n}`, policy]]),
        });
        await settle(worker, [settlement(copies[0] as TakenCopy, outcome, { delayMs: 60_000 })], policy);
      }
      await take(worker, destinationPolicy({ destination: "~d3" }), 1);
      await ledger.hold("~d4", Date.now() + 60_000);
      for (const limit of [1, 7, 500]) {
        const told = await sharedBacklogs(ledger, limit);
        expect([...told.keys()]).toEqual(names.filter((name) => name !== "~d0").toSorted());
        const recount = await ledger.stats([...told.keys()]);
        for (const [id, backlog] of told) expect(countsOf(backlog)).toEqual(countsOf(recount.get(id)));
      }
      expect((await sharedBacklogs(ledger, 500)).get("~d4")).toMatchObject({ waiting: 1, gate: "Held" });
      expect((await sharedBacklogs(ledger, 500)).get("~d1")?.oldestDelayedSeconds).toBeGreaterThan(0);
      // Who asks for deliveries learns of one to which nothing is on its way.
      const all = await sharedBacklogs(ledger, 7, true);
      expect([...all.keys()]).toEqual(names.toSorted());
      expect(all.get("~d0")).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
      expect(all.get("~d0")?.deliveredSecondsAgo).toBeLessThan(60);
    },
  );

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
}

/** All pages of so many. */
async function sharedBacklogs(
  ledger: Ledger,
  limit: number,
  deliveries = false,
): Promise<ReadonlyMap<string, Backlog>> {
  const all = new Map<string, Backlog>();
  let cursor: string | undefined;
  do {
    const page = await ledger.sharedBacklogs({ limit, deliveries, ...(cursor !== undefined && { cursor }) });
    for (const [id, backlog] of page.backlogs) all.set(id, backlog);
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}

function countsOf(backlog: Backlog | undefined): readonly unknown[] {
  return [backlog?.waiting, backlog?.active, backlog?.delayed, backlog?.dead, backlog?.gate];
}
