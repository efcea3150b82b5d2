import { expect } from "vitest";
import type { ProviderIdQuery } from "../provider-id.ts";
import {
  destinationPolicy,
  mark,
  newEvent,
  ROUTE,
  routePolicy,
  settle,
  settlement,
  storeTest,
  takeOne,
  type Open,
} from "./fixtures.ts";

const WINDOW_MS = routePolicy().windowMs;
const query = (id: string, change: Partial<ProviderIdQuery> = {}): ProviderIdQuery => ({
  route: ROUTE,
  id,
  marks: [mark(id).key],
  windows: [WINDOW_MS],
  headers: ["x-id"],
  ...change,
});

/** The part of the suite about finding an event by its id at the provider. */
export function providerIdsConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("finds a queued event by its mark, with its duplicates", async ({ inbox, ledger }) => {
    const { id } = await inbox.claim(newEvent({ mark: mark("evt_1") }));
    await inbox.claim(newEvent({ mark: mark("evt_1") }));
    const found = await ledger.findByProviderId(query("evt_1"));
    expect(found).toMatchObject([{ eventId: id, event: { id, duplicates: 1 } }]);
    expect(found[0]?.receivedAt).toBe(found[0]?.event?.receivedAt);
    expect(await ledger.findByProviderId(query("evt_2"))).toEqual([]);
  });

  withStore("finds a delivered one in its window", async ({ inbox, outbox, ledger }) => {
    const { id } = await inbox.claim(newEvent({ mark: mark("evt_1") }));
    await settle(await outbox([]), [settlement(await takeOne(await outbox([])), "delivered")]);
    expect(await ledger.findByProviderId(query("evt_1"))).toMatchObject([{ eventId: id, event: { id } }]);
  });

  withStore("finds one whose record is gone by its mark", async ({ inbox, outbox, ledger }) => {
    const policy = routePolicy({ retention: { ...routePolicy().retention, deliveredMs: 0 } });
    const destination = destinationPolicy({ policy });
    const { id } = await inbox.claim(newEvent({ policy, mark: mark("evt_1") }));
    const worker = await outbox([policy]);
    await settle(worker, [settlement(await takeOne(worker, destination), "delivered")], destination);
    await inbox.claim(newEvent({ policy, mark: mark("evt_2") }));
    expect(await ledger.event(id)).toBeUndefined();
    expect(await ledger.findByProviderId(query("evt_1"))).toMatchObject([{ eventId: id, event: undefined }]);
  });

  withStore("finds events by a kept header, all bodies of one id, newest first", async ({ inbox, ledger }) => {
    const named = (headers: Record<string, string>) => inbox.claim(newEvent({ headers }));
    const first = await named({ "x-id": 'a "quoted" id' });
    await named({ "x-other": 'a "quoted" id' });
    await named({ "x-id": "another" });
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    const second = await named({ "x-id": 'a "quoted" id' });
    const found = await ledger.findByProviderId(query('a "quoted" id'));
    expect(found.map(({ eventId }) => eventId)).toEqual([second.id, first.id]);
    expect(await ledger.findByProviderId(query("another", { headers: [] }))).toEqual([]);
  });
}
