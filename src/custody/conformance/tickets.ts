import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Outbox } from "../port.ts";
import {
  type Open,
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  SHORT_LEASE_TIMEOUT_MS,
  settlement,
  takeOne,
  storeTest,
} from "./fixtures.ts";

/** The `tickets` part of the suite. */
export function ticketsConformance(open: Open): void {
  const withStore = storeTest(open);
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
    for (const end = performance.now() + ms; !met() && performance.now() < end; ) await sleep(10);
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

  withStore("look at what a lost process held also while their destination is left alone", async (store) => {
    const { id } = await store.inbox.claim(newEvent());
    const policy = destinationPolicy({ timeoutMs: SHORT_LEASE_TIMEOUT_MS });
    await takeOne(await store.outbox([]), policy);
    const outbox = await store.outbox([routePolicy()]);
    const stop = await outbox.start({
      onHint: () => undefined,
      onTicket: async (ticket) => {
        const takes = [{ destination: policy.destination, want: 0, started: ticket.generation }];
        await outbox.turn({ settles: [], takes, policies: new Map([[policy.destination, policy]]) });
        await outbox.postpone(ticket, 60_000);
      },
    });
    let state: string | undefined;
    for (const end = performance.now() + 9_000; state !== "waiting" && performance.now() < end; await sleep(50))
      state = (await store.ledger.event(id))?.copies[0]?.state;
    expect(state).toBe("waiting");
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
}
