import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { TakenCopy } from "../port.ts";
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
