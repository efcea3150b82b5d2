import { expect } from "vitest";
import type { TakenCopy } from "../port.ts";
import {
  type Open,
  DESTINATION,
  destinationPolicy,
  newEvent,
  settle,
  settlement,
  storeTest,
  take,
} from "./fixtures.ts";

/** The `statistics` part of the suite. */
export function statisticsConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("tell a destination's copies by state, its gate, and what ended in each hour", async (store) => {
    const { inbox, outbox, ledger, statistics } = store;
    const events = await Promise.all(Array.from({ length: 8 }, () => inbox.claim(newEvent())));
    const policy = destinationPolicy({ gate: { seq: 7 } });
    const worker = await outbox([]);
    const copies = await take(worker, policy, 6);
    const outcomes = ["delivered", "delivered", "dead", "dead", "retry"] as const;
    await settle(
      worker,
      outcomes.map((outcome, index) => settlement(copies[index] as TakenCopy, outcome, { delayMs: 60_000 })),
      policy,
    );
    await ledger.replay((copies[2] as TakenCopy).eventId);
    const [first] = events;
    const { receivedAt = 0 } = (await ledger.event(first?.id ?? "")) ?? {};
    const known = (await statistics.of([DESTINATION])).get(DESTINATION);
    expect(known).toMatchObject({
      destination: DESTINATION,
      copies: { ready: 2, replayed: 1, delayed: 1, active: 1, dead: 1 },
      gate: { state: "Closed", config: { seq: 7, limit: 16 } },
    });
    const { at = 0, oldestWaitingAt = 0, oldestDelayedAt = 0, lastDeliveredAt = 0, hours = [] } = known ?? {};
    for (const time of [oldestWaitingAt, oldestDelayedAt, lastDeliveredAt]) {
      expect(time).toBeGreaterThanOrEqual(receivedAt);
      expect(time).toBeLessThanOrEqual(at);
    }
    expect([sum(hours, "delivered"), sum(hours, "failed")]).toEqual([2, 3]);
    expect(hours.every(({ from }) => from % 3_600_000 === 0 && from <= at && at - from < 7_200_000)).toBe(true);
  });

  withStore(
    "count what goes back without an attempt, or is fenced, as nothing",
    async ({ inbox, outbox, statistics }) => {
      await inbox.claim(newEvent());
      const worker = await outbox([]);
      const [copy] = await take(worker);
      await settle(worker, [settlement(copy as TakenCopy, "handedBack")]);
      const [again] = await take(worker);
      await settle(worker, [settlement(copy as TakenCopy, "delivered"), settlement(again as TakenCopy, "delivered")]);
      await settle(worker, [settlement(again as TakenCopy, "delivered")]);
      const hours = (await statistics.of([DESTINATION])).get(DESTINATION)?.hours ?? [];
      expect([sum(hours, "delivered"), sum(hours, "failed")]).toEqual([1, 0]);
    },
  );

  withStore("tell a held gate with its reason and end", async ({ ledger, statistics }) => {
    const until = Date.now() + 60_000;
    await ledger.hold("~acme", until);
    expect((await statistics.of(["~acme"])).get("~acme")?.gate).toMatchObject({
      state: "Held",
      reason: "OperatorHold",
      until,
    });
  });

  withStore("know nothing of a destination that never had copies", async ({ statistics }) => {
    expect([...(await statistics.of(["~a", "~b"])).values()]).toMatchObject(
      ["~a", "~b"].map((destination) => ({
        destination,
        gate: { state: "Closed", generation: 0, consecutiveFailures: 0 },
        copies: { ready: 0, replayed: 0, delayed: 0, active: 0, dead: 0 },
        hours: [],
      })),
    );
    expect((await statistics.of(["~a"])).get("~a")).not.toHaveProperty("oldestWaitingAt");
    expect(await statistics.list({ limit: 10 })).toEqual({ items: [] });
  });

  withStore("list destinations by id in pages, also those that no worker ever took from", async (store) => {
    const names = ["~c", "~a", "~b", "~e", "~d"];
    const destinations = names.map((destination) => ({ destination, limit: 1 }));
    await store.inbox.claim(newEvent({ destinations }));
    const worker = await store.outbox([]);
    const policy = destinationPolicy({ destination: "~e" });
    const policies = new Map([["~e", policy]]);
    const takes = [{ destination: "~e", want: 1, started: 0 }];
    const { copies } = await worker.turn({ settles: [], takes, policies });
    await settle(worker, [settlement(copies[0] as TakenCopy, "delivered")], policy);
    await worker.done({ destination: "~e", generation: 0, slot: 0 }, policy);
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.statistics.list({ limit: 2, ...(cursor !== undefined && { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      for (const { destination, backlog } of page.items) {
        listed.push(destination);
        expect(backlog.waiting).toBe(destination === "~e" ? 0 : 1);
      }
      cursor = page.next;
    } while (cursor !== undefined);
    expect(listed).toEqual(names.toSorted());
  });
}

function sum<K extends string>(hours: readonly Readonly<Record<K, number>>[], name: K): number {
  return hours.reduce((total, hour) => total + hour[name], 0);
}
