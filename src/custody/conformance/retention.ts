import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { RoutePolicy } from "../port.ts";
import {
  type Open,
  ROUTE,
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
  takeOne,
  storeTest,
} from "./fixtures.ts";

/** The `retention` part of the suite. */
export function retentionConformance(open: Open): void {
  const withStore = storeTest(open);
  const retained = (retention: Partial<RoutePolicy["retention"]>) =>
    routePolicy({ retention: { ...routePolicy().retention, ...retention } });

  withStore(
    "removes the oldest delivered beyond maxEvents, never a live or dead one",
    async ({ inbox, outbox, operations }) => {
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
      const left = (await operations.events({ route: ROUTE, limit: 10 })).items.map(({ id }) => id).toReversed();
      expect(left).toEqual([ids[0], ids[5], waiting.id]);
    },
  );

  withStore("removes only as many late ones as are too many", async ({ inbox, outbox, operations }) => {
    const policy = retained({ maxEvents: 6 });
    const destination = destinationPolicy({ policy });
    for (let i = 0; i < 10; i++) await inbox.claim(newEvent({ policy }));
    const worker = await outbox([]);
    const copies = await take(worker, destination);
    await settle(
      worker,
      copies.map((copy) => settlement(copy, "delivered")),
      destination,
    );
    expect((await operations.events({ route: ROUTE, limit: 20 })).items.map(({ id }) => id)).toEqual(
      copies
        .map(({ eventId }) => eventId)
        .slice(4)
        .toReversed(),
    );
  });

  withStore("removes a late one that the sweep had passed", async ({ inbox, outbox, operations }) => {
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
    expect((await operations.events({ route: ROUTE, limit: 10 })).items.length).toBeLessThanOrEqual(2);
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
}
