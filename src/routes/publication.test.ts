import { describe, expect, it } from "vitest";
import type { RouteEntry } from "./entry.ts";
import { PUBLICATION_SCHEMA, published, readPublication, released } from "./publication.ts";
import { entryOf, inputOf, routeOf, secretsOf } from "./testing.ts";

const entry = { ...entryOf(), seq: 42 };
const broken = (change: Record<string, unknown>) => JSON.stringify({ ...published(entry), ...change });
const brokenEntry = (change: Record<string, unknown>) => broken({ entry: { ...entry, ...change } });

/** JSON leaves out what is `undefined`. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("a publication", () => {
  it("survives its JSON, with the publisher's stamp", () => {
    const reading = readPublication(JSON.stringify(published(entry)));
    expect(reading).toEqual({ ok: true, publication: asJson(published(entry)) });
    expect(reading.ok && reading.publication.seq).toBe(42);
  });

  it("of a deleted route keeps its place and says since when", () => {
    const reading = readPublication(JSON.stringify(released(entry, 43, 1_000)));
    const { namespace, name, host, path } = entry;
    expect(reading).toEqual({
      ok: true,
      publication: {
        schema: PUBLICATION_SCHEMA,
        minReader: 1,
        seq: 43,
        released: { namespace, name, host, path, releasedAt: 1_000 },
      },
    });
  });

  it("of a deleted route whose events are to be purged says so, as its entry did", () => {
    const purged = entryOf({ ...inputOf(), route: routeOf({ deletionPolicy: "Purge" }) });
    expect(purged.deletionPolicy).toBe("Purge");
    const reading = readPublication(JSON.stringify(released(purged, 43, 1_000)));
    expect(reading).toMatchObject({ ok: true, publication: { released: { deletionPolicy: "Purge" } } });
    // Absent, so that no route is published anew for a field that says what was so before.
    expect(entryOf()).not.toHaveProperty("deletionPolicy");
  });

  it("is kept from readers that would make no copies for WebhookDestinations", () => {
    const minReaderOf = (part: Partial<RouteEntry>) => published({ ...entry, ...part }).minReader;
    expect(minReaderOf({})).toBe(1);
    expect(minReaderOf({ sharedCopies: [] })).toBe(3);
    expect(minReaderOf({ destinationIdFrom: "json:/to" })).toBe(3);
  });

  it("is kept from readers that would look for its id in the wrong place", () => {
    const of = (keyFrom: string[]) => published(entryOf({ ...inputOf(), route: routeOf({ dedupe: { keyFrom } }) }));
    expect(of(["header:X-Id"]).minReader).toBe(1);
    expect(of(["header:X-Id", "form:MessageSid"]).minReader).toBe(2);
    const optional = {
      ...entry,
      dedupe: { ...entry.dedupe, sources: [{ from: "json", pointer: "/id", signed: true, optional: true }] },
    } as const;
    expect(published(optional).minReader).toBe(2);
    expect(readPublication(JSON.stringify(published(optional)))).toMatchObject({ ok: true });
  });

  it("of an older controller, which says less, is read all the same", () => {
    const { withoutId: _, ...dedupe } = entry.dedupe;
    const older = { schema: 1, minReader: 1, seq: 42, entry: { ...entry, dedupe } };
    expect(readPublication(JSON.stringify(older))).toMatchObject({ ok: true, publication: { entry: { dedupe } } });
  });

  it("carries the keys of what comes in and none of what goes out", () => {
    const signed = entryOf({
      ...inputOf(),
      route: routeOf({
        delivery: { signing: { scheme: "StandardWebhooks", secretRef: { name: "out", key: "secret" } } },
      }),
      secrets: secretsOf(
        { github: { secret: "incoming" }, out: { secret: "outgoing secret" } },
        { "davit.dev/use": "true" },
      ),
    });
    expect(signed.destinations[0]?.signing?.keys).not.toEqual([]);
    const text = JSON.stringify(published(signed));
    expect(text).toContain(Buffer.from("incoming").toString("base64"));
    expect(text).not.toContain(Buffer.from("outgoing secret").toString("base64"));
  });
});

describe("readPublication", () => {
  it.each([
    ["no JSON", "{"],
    ["no object", "[1]"],
    ["nothing", "null"],
    ["no stamp", broken({ seq: undefined })],
    ["a stamp of another type", broken({ seq: "42" })],
    ["no minReader", broken({ minReader: undefined })],
    ["neither an entry nor a released place", broken({ entry: undefined })],
    ["a released place without a time", broken({ released: { namespace: "a", name: "b", host: "c", path: "/" } })],
    ["a released place that is no object", broken({ released: null })],
    ["an entry that is no object", broken({ entry: 7 })],
    ["methods of another type", brokenEntry({ methods: "POST" })],
    ["no limits", brokenEntry({ limits: undefined })],
    ["null where an object belongs", brokenEntry({ dedupe: null })],
    ["a broken destination", brokenEntry({ destinations: [{ id: "x" }] })],
    ["null in the list of destinations", brokenEntry({ destinations: [null] })],
  ])("calls malformed what has %s, and throws nothing", (_, json) => {
    expect(readPublication(json)).toMatchObject({ ok: false, code: "Malformed" });
  });

  it("calls too new what needs a newer reader, whatever else is in it", () => {
    expect(readPublication(broken({ minReader: 4, entry: { host: "h.example", path: "/p" } }))).toMatchObject({
      ok: false,
      code: "TooNew",
      message: expect.stringContaining("upgrade the gateways") as string,
      seq: 42,
      place: { host: "h.example", path: "/p" },
    });
    expect(readPublication(brokenEntry({ minReader: 3, methods: "new" }))).toMatchObject({ ok: false, code: "TooNew" });
  });

  it("takes what a newer version wrote for readers of this one, with fields it does not know", () => {
    expect(readPublication(broken({ schema: 3, entry: { ...entry, novelty: true } }))).toMatchObject({ ok: true });
  });

  it("tells stamp and place of a broken entry as far as they can be read, and nothing of its values", () => {
    const reading = readPublication(brokenEntry({ methods: 1 }));
    expect(reading).toMatchObject({ seq: 42, place: { host: entry.host, path: entry.path } });
    expect(JSON.stringify(reading)).not.toContain(entry.keys[0]?.value);
    expect(readPublication(broken({ entry: { host: 1, path: "/" } }))).not.toHaveProperty("place");
  });
});
