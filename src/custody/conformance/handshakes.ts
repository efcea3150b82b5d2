import { expect } from "vitest";
import { Secret } from "../../lib/secret.ts";
import type { KeptHandshake } from "../port.ts";
import { newEvent, ROUTE, storeTest, type Open } from "./fixtures.ts";

const HOUR_MS = 3_600_000;
const kept = (value: string, change: Partial<KeptHandshake> = {}): KeptHandshake => ({
  route: ROUTE,
  at: Date.now(),
  client: "192.0.2.7",
  kind: "hook-secret",
  value: Secret.of(value),
  ...change,
});

/** The part of the suite about secrets that providers hand over in handshakes. */
export function handshakesConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore("keeps what a handshake brought, byte for byte, and by route", async ({ inbox, ledger }) => {
    const one = kept("", { value: new Secret(Buffer.from([0, 255, 10])), kind: "verification-token" });
    await inbox.keep(one);
    const [found, ...others] = await ledger.handshakes(ROUTE);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ route: ROUTE, at: one.at, client: "192.0.2.7", kind: "verification-token" });
    expect(found?.value.reveal()).toEqual(Buffer.from([0, 255, 10]));
    expect(await ledger.handshakes("00000000000000ab")).toEqual([]);
  });

  const valuesOf = async (ledger: Parameters<Parameters<typeof withStore>[1]>[0]["ledger"]) =>
    (await ledger.handshakes(ROUTE)).map(({ value }) => value.reveal().toString());

  withStore(
    "keeps the first five and the newest five, newest first, and counts the others",
    async ({ inbox, ledger }) => {
      const now = Date.now();
      for (let n = 0; n < 10; n++) await inbox.keep(kept(`secret ${n}`, { at: now + n, client: `192.0.2.${n}` }));
      expect(await valuesOf(ledger)).toHaveLength(10);
      expect(await ledger.droppedHandshakes(ROUTE)).toBe(0);
      for (let n = 10; n < 40; n++) await inbox.keep(kept(`secret ${n}`, { at: now + n, client: `192.0.2.${n}` }));
      expect(await valuesOf(ledger)).toEqual([39, 38, 37, 36, 35, 4, 3, 2, 1, 0].map((n) => `secret ${n}`));
      expect(await ledger.droppedHandshakes(ROUTE)).toBe(30);
      expect(await ledger.droppedHandshakes("00000000000000ab")).toBe(0);
    },
  );

  withStore("lets the client make room that has most of them, a /64 counting as one", async ({ inbox, ledger }) => {
    const now = Date.now();
    let at = now;
    const flood = async (count: number) => {
      for (let n = 0; n < count; n++) await inbox.keep(kept(`forged ${at}`, { at: ++at, client: `2001:db8::${n}` }));
    };
    await flood(8);
    for (let n = 0; n < 6; n++) {
      await inbox.keep(kept(`genuine ${n}`, { at: ++at, client: `198.51.100.${n % 2}` }));
      await flood(20);
    }
    const values = await valuesOf(ledger);
    expect(values.filter((value) => value.startsWith("genuine")).toSorted()).toEqual(
      [0, 1, 2, 3, 4, 5].map((n) => `genuine ${n}`),
    );
    expect(values).toHaveLength(10);
  });

  withStore("keeps the first and the newest of one client", async ({ inbox, ledger }) => {
    const now = Date.now();
    for (let n = 0; n < 50; n++) await inbox.keep(kept(`secret ${n}`, { at: now + n }));
    expect(await valuesOf(ledger)).toEqual([49, 48, 47, 46, 45, 4, 3, 2, 1, 0].map((n) => `secret ${n}`));
  });

  withStore("forgets them after 72 hours, others that came later aside", async ({ inbox, ledger }) => {
    await inbox.keep(kept("old", { at: Date.now() - 73 * HOUR_MS }));
    expect(await ledger.handshakes(ROUTE)).toEqual([]);
    await inbox.keep(kept("new"));
    expect(await ledger.handshakes(ROUTE)).toHaveLength(1);
  });

  withStore("counts those that had to go anew when all have been forgotten", async ({ inbox, ledger }) => {
    const long = Date.now() - 73 * HOUR_MS;
    for (let n = 0; n < 12; n++) await inbox.keep(kept(`old ${n}`, { at: long + n }));
    expect(await ledger.droppedHandshakes(ROUTE)).toBe(2);
    await inbox.keep(kept("new"));
    expect(await ledger.handshakes(ROUTE)).toHaveLength(1);
    expect(await ledger.droppedHandshakes(ROUTE)).toBe(0);
  });

  withStore("removes them with their route", async ({ inbox, ledger, shelves }) => {
    await inbox.claim(newEvent());
    await inbox.keep(kept("gone"));
    const shelf = shelves();
    await shelf.shelve({ route: ROUTE, name: "orders", namespaceUid: "uid" });
    expect(await ledger.handshakes(ROUTE)).toHaveLength(1);
    expect(await shelf.purge(ROUTE, 0)).toMatchObject({ more: false });
    expect(await ledger.handshakes(ROUTE)).toEqual([]);
  });
}
