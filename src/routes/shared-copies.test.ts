import { describe, expect, test } from "vitest";
import { resolveSpec } from "../api/defaults.ts";
import type { WebhookRoute } from "../api/generated/webhook-route.ts";
import type { RouteEntry } from "./entry.ts";
import { type KnownDestination, resolveShared } from "./shared-copies.ts";
import { published as publicationOf } from "./publication.ts";
import { signingKeysOf } from "./signing-keys.ts";
import { entryOf, routeOf, secretsOf } from "./testing.ts";

const known = (name: string, more: Partial<KnownDestination> = {}): KnownDestination => ({
  name,
  id: `~${name}`,
  labels: { tier: "gold" },
  ...more,
});

function resolve(
  spec: Partial<WebhookRoute["spec"]>,
  destinations: readonly KnownDestination[],
  published?: Partial<RouteEntry>,
) {
  const resolved = resolveSpec(routeOf(spec).spec, undefined);
  return resolveShared(resolved, destinations, published && { ...entryOf(), ...published });
}

/** A route without a list of its own. */
const selecting = (selector: NonNullable<WebhookRoute["spec"]["destinationSelector"]>) => {
  const { destinations: _, ...spec } = routeOf({ destinationSelector: selector }).spec;
  return { ...spec, destinations: [] };
};
const GOLD = selecting({ matchLabels: { tier: "gold" } });

describe("resolveShared", () => {
  test("a selector takes each match of all its labels, with the destination's limit or the route's", () => {
    const { part, finding } = resolve({ ...GOLD, delivery: { concurrency: 4 } }, [
      known("b"),
      known("a", { limit: 9 }),
      known("silver", { labels: { tier: "silver" } }),
    ]);
    expect(finding.ok).toBe(true);
    expect(part.sharedCopies).toEqual([
      { id: "~a", name: "a", limit: 9, eventTypes: [] },
      { id: "~b", name: "b", limit: 4, eventTypes: [] },
    ]);
    const both = selecting({ matchLabels: { tier: "gold", region: "eu" } });
    expect(
      resolve(both, [known("a"), known("b", { labels: { tier: "gold", region: "eu" } })]).part.sharedCopies,
    ).toHaveLength(1);
  });

  test("takes 32 matches and no more: what was selected before goes on", () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => known(`d${index}`));
    expect(resolve(GOLD, many(32)).part.sharedCopies).toHaveLength(32);
    const before = [{ id: "~d0", name: "d0", limit: 1, eventTypes: [] }];
    const { part, finding } = resolve(GOLD, many(33), { sharedCopies: before });
    expect(part.sharedCopies).toEqual(before);
    expect(finding).toMatchObject({ ok: false, reason: "TooManyDestinations", closed: false });
    expect(resolve(GOLD, many(33)).finding).toMatchObject({ reason: "TooManyDestinations", closed: true });
  });

  test("with idFrom the entry carries no list, and what the one that an event names must bear", () => {
    const spec = selecting({ matchLabels: { tier: "gold" }, idFrom: "json:/to" });
    expect(resolve(spec, [known("a")]).part).toEqual({
      destinationIdFrom: "json:/to",
      destinationLabels: { tier: "gold" },
    });
  });

  test("destinationRef names one, whose filter is the route's", () => {
    const destinations = [
      { name: "own", serviceRef: { name: "own", port: 80 } },
      { name: "eu", destinationRef: { name: "acme" }, eventTypes: ["order.*"] },
      { name: "again", destinationRef: { name: "acme" }, eventTypes: ["invoice.paid"] },
    ];
    expect(resolve({ destinations }, [known("acme")]).part.sharedCopies).toEqual([
      { id: "~acme", name: "acme", limit: 1, eventTypes: ["order.*", "invoice.paid"] },
    ]);
  });

  test("a destinationRef that was known goes on; one that never was closes the route, and the finding names what is missing", () => {
    const destinations = ["acme", "beta"].map((name) => ({ name, destinationRef: { name } }));
    const published = { sharedCopies: [{ id: "~B-7", name: "beta", limit: 1, eventTypes: [] }] };
    const again = resolve({ destinations }, [known("acme")], published);
    expect(again.part.sharedCopies?.map(({ id }) => id)).toEqual(["~B-7", "~acme"]);
    expect(again.finding).toMatchObject({ ok: false, reason: "DestinationNotFound", closed: false });
    expect(again.finding.message).toContain("no WebhookDestination beta");
    expect(resolve({ destinations }, [known("acme")]).finding).toMatchObject({ closed: true });
  });

  test("a destinationRef that is gone is no way to another one that has its id by now", () => {
    const destinations = [{ name: "beta", destinationRef: { name: "beta" } }];
    const published = { sharedCopies: [{ id: "~B-7", name: "beta", limit: 1, eventTypes: [] }] };
    const { part, finding } = resolve({ destinations }, [known("heir", { id: "~B-7" })], published);
    expect(part).toEqual({});
    expect(finding).toMatchObject({ ok: false, reason: "DestinationNotFound", closed: true });
  });

  test("a route without any has nothing added to its entry", () => {
    expect(resolve({}, [known("a")])).toEqual({
      part: {},
      finding: { ok: true, message: "all destinations are known" },
    });
  });
});

describe("a route's entry", () => {
  const compiled = (spec: Partial<WebhookRoute["spec"]>, destinations: readonly KnownDestination[]) => {
    const route = routeOf(spec);
    const validation = { problems: [], route, spec: resolveSpec(route.spec, undefined) };
    const secrets = secretsOf({ github: { secret: "s" }, out: { key: "outgoing" } }, { "davit.dev/use": "true" });
    return entryOf({ route, validation, destinations, secrets });
  };
  const destinations = [
    { name: "own", serviceRef: { name: "own", port: 80 } },
    { name: "eu", destinationRef: { name: "acme" } },
  ];
  const signing = { scheme: "Timestamped", secretRef: { name: "out", key: "key" } } as const;

  test("has what WebhookDestinations leave open, and its concurrency only where that is written", () => {
    const entry = compiled({ destinations, delivery: { timeout: "7s", signing } }, [known("acme")]);
    expect(entry.destinations.map(({ name }) => name)).toEqual(["own"]);
    expect(entry.delivery).toMatchObject({
      timeoutMs: 7_000,
      retry: { jitter: 0.1 },
      signing: { header: "x-signature" },
    });
    expect(entry.delivery).not.toHaveProperty("concurrency");
    expect(compiled({ destinations, delivery: { concurrency: 3 } }, [known("acme")]).delivery?.concurrency).toBe(3);
    expect(compiled({}, [])).not.toHaveProperty("delivery");
  });

  test("goes to gateways without the keys that it signs with", () => {
    const entry = compiled({ destinations, delivery: { signing } }, [known("acme")]);
    const secret = Buffer.from("outgoing").toString("base64");
    expect(JSON.stringify(entry.delivery)).toContain(secret);
    expect(JSON.stringify(publicationOf(entry))).not.toContain(secret);
    expect(signingKeysOf({ ...entry, destinations: [] })).toHaveLength(1);
  });

  test("is closed while a destination was never known", () => {
    expect(compiled({ destinations }, []).suspend).toBe("Ingest");
    expect(compiled({ destinations, suspend: "Delivery" }, []).suspend).toBe("All");
    expect(compiled({ destinations }, [known("acme")]).suspend).toBe("None");
  });
});
