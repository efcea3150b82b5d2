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

  withStore("shows the newest ten first", async ({ inbox, ledger }) => {
    const now = Date.now();
    for (let n = 0; n < 12; n++) await inbox.keep(kept(`secret ${n}`, { at: now + n }));
    const values = (await ledger.handshakes(ROUTE)).map(({ value }) => value.reveal().toString());
    expect(values).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((n) => `secret ${n}`));
  });

  withStore("forgets them after 72 hours, others that came later aside", async ({ inbox, ledger }) => {
    await inbox.keep(kept("old", { at: Date.now() - 73 * HOUR_MS }));
    expect(await ledger.handshakes(ROUTE)).toEqual([]);
    await inbox.keep(kept("new"));
    expect(await ledger.handshakes(ROUTE)).toHaveLength(1);
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
