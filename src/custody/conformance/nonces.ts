import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { Nonce } from "../port.ts";
import { mark, newEvent, routePolicy, storeTest, take, type Open } from "./fixtures.ts";

const half = (text: string) => createHash("sha256").update(text).digest().subarray(0, 16);
const nonce = (value: string, body: string, windowMs = 3_600_000): Nonce => ({
  key: half(value),
  bodyHash: half(body),
  windowMs,
});

/** The part of the suite about nonces: what is good for one body only. */
export function noncesConformance(open: Open): void {
  const withStore = storeTest(open);

  withStore(
    "refuses a nonce that came with another body, and keeps nothing of it",
    async ({ inbox, outbox, ledger }) => {
      const claim = (body: string, id: string) =>
        inbox.claim(newEvent({ mark: mark(id), nonce: nonce("token", body), body: Buffer.from(body) }));
      const first = await claim("one", "a");
      expect(first.outcome).toBe("new");
      const forged = await claim("two", "b");
      expect(forged.outcome).toBe("reused");
      expect(await ledger.event(forged.id)).toBeUndefined();
      expect(await inbox.claim(newEvent({ mark: mark("b") }))).toMatchObject({ outcome: "new" });
      expect(await take(await outbox([]))).toHaveLength(2);
    },
  );

  withStore("takes the same nonce with the same body the usual way", async ({ inbox }) => {
    const claim = () => inbox.claim(newEvent({ mark: mark("same"), nonce: nonce("token", "body") }));
    const first = await claim();
    expect(await claim()).toEqual({ outcome: "duplicate", id: first.id });
    const unmarked = () => inbox.claim(newEvent({ nonce: nonce("token", "body") }));
    expect((await unmarked()).outcome).toBe("new");
  });

  withStore("remembers the nonce of a duplicate as well", async ({ inbox }) => {
    await inbox.claim(newEvent({ mark: mark("again"), nonce: nonce("first token", "body") }));
    await inbox.claim(newEvent({ mark: mark("again"), nonce: nonce("second token", "body") }));
    const forged = newEvent({ mark: mark("forged"), nonce: nonce("second token", "other") });
    expect((await inbox.claim(forged)).outcome).toBe("reused");
  });

  withStore("gives a nonce to one of many bodies that come at once", async ({ inbox, outbox }) => {
    const bodies = Array.from({ length: 50 }, (_, n) => `body ${n}`);
    const results = await Promise.all(
      bodies.map((body) => inbox.claim(newEvent({ mark: mark(body), nonce: nonce("token", body) }))),
    );
    expect(results.filter(({ outcome }) => outcome === "new")).toHaveLength(1);
    expect(results.filter(({ outcome }) => outcome === "reused")).toHaveLength(49);
    expect(await take(await outbox([]), undefined, 50)).toHaveLength(1);
  });

  withStore("knows its own event again when a batch with a nonce is repeated", async ({ inbox }) => {
    const event = newEvent({ mark: mark("repeated"), nonce: nonce("token", "body") });
    expect([await inbox.claim(event), await inbox.claim(event)]).toEqual([
      { outcome: "new", id: event.id },
      { outcome: "new", id: event.id },
    ]);
  });

  withStore("forgets a nonce when its window has passed, counted from its receipt", async ({ inbox }) => {
    const claim = (body: string) => inbox.claim(newEvent({ nonce: nonce("counted", body, 400) }));
    await claim("one");
    expect((await claim("two")).outcome).toBe("reused");
    await sleep(500);
    expect((await claim("two")).outcome).toBe("new");
  });

  withStore("keeps a nonce until the last of its windows ends, though later ones are shorter", async ({ inbox }) => {
    const claim = (body: string, windowMs: number) => inbox.claim(newEvent({ nonce: nonce("aged", body, windowMs) }));
    await claim("one", 60_000);
    await claim("one", 100);
    await sleep(250);
    expect((await claim("two", 100)).outcome).toBe("reused");
    await inbox.claim(newEvent({ nonce: nonce("renewed", "one", 200) }));
    await inbox.claim(newEvent({ nonce: nonce("renewed", "one", 60_000) }));
    await sleep(300);
    expect((await inbox.claim(newEvent({ nonce: nonce("renewed", "two", 200) }))).outcome).toBe("reused");
  });

  withStore("knows a nonce under every policy and window of its route, weak marks included", async ({ inbox }) => {
    await inbox.claim(newEvent({ nonce: nonce("kept", "one", 3_600_000) }));
    const claims = [
      newEvent({ policy: routePolicy({ windowMs: 1_000 }), nonce: nonce("kept", "two", 1_000) }),
      newEvent({ mark: { ...mark("weak"), weak: true }, nonce: nonce("kept", "two", 7_200_000) }),
      newEvent({ mark: mark("strong"), nonce: nonce("kept", "two", 59_999) }),
    ];
    // Those of one batch as well, where only the first may decide what a lookup finds.
    const results = await Promise.all(claims.map((event) => inbox.claim(event)));
    expect(results.map(({ outcome }) => outcome)).toEqual(["reused", "reused", "reused"]);
  });
}
