import { describe, expect, test } from "vitest";
import type { TakenCopy } from "../custody/port.ts";
import type { DestinationEntry, RouteDelivery, RouteEntry } from "../routes/entry.ts";
import { entryOf } from "../routes/testing.ts";
import { routeOf as routeOfDestination, type WorkerRoute } from "./destinations.ts";
import { deathOfMissing, judgeShared, MISSING_MS, parkedMs, sharedDestination } from "./shared-destinations.ts";
import { workerDestinations } from "./worker-destinations.ts";

const DAY_MS = 86_400_000;
const [INLINE] = entryOf().destinations as [DestinationEntry];
const ACME: DestinationEntry = {
  ...INLINE,
  id: "~acme",
  name: "acme",
  kind: "shared",
  seq: 4,
  timeoutMs: 15_000,
  concurrency: 1,
  gaps: ["timeoutMs", "concurrency", "retry", "signing", "headers", "forwardHeaders"],
};
const { timeoutMs: _, concurrency: __, ...rest } = INLINE;
const delivery = (change: Partial<RouteDelivery> = {}): RouteDelivery => ({
  timeoutMs: 20_000,
  retry: rest.retry,
  headers: { "x-team": "payments" },
  forwardHeaders: ["content-type"],
  ...change,
});

function route(key: string, more: Partial<RouteEntry> = {}): RouteEntry {
  const { signing: ___, ...entry } = { ...entryOf(), signing: undefined };
  const shared = [{ id: "~acme", name: "acme", limit: 1, eventTypes: [] }];
  return { ...entry, route: key, name: key, seq: 7, sharedCopies: shared, delivery: delivery(), ...more };
}

const configured = (routes: readonly RouteEntry[], acme: DestinationEntry = ACME, isLive = true) =>
  workerDestinations(routes, { destinations: [acme], isLive: () => isLive });

function copy(change: Partial<TakenCopy> = {}): TakenCopy {
  const now = 100 * DAY_MS;
  return {
    destination: "~acme",
    eventId: "01J0000000000000000000000A",
    fence: 1,
    attempt: 1,
    used: 1,
    firstAttemptAt: now,
    now,
    receivedAt: now - 1_000,
    sequence: 1,
    seq: 7,
    headers: {},
    eventType: undefined,
    body: Buffer.from("{}"),
    route: "r1",
    ...change,
  };
}

describe("a WebhookDestination in a worker", () => {
  test("is to each route's copies what it says itself, and what the route says where it leaves that open", () => {
    const routes = [route("r1"), route("r2", { delivery: delivery({ timeoutMs: 30_000, headers: {} }) })];
    const open = configured(routes).get("~acme");
    expect(open?.forRoute?.("r1")).toMatchObject({
      routeName: "r1",
      entry: { timeoutMs: 20_000, headers: { "x-team": "payments" } },
      policy: { destination: "~acme", policy: { route: "r1" }, timeoutMs: 20_000 },
    });
    expect(open?.forRoute?.("r2")?.entry.timeoutMs).toBe(30_000);
    expect(open?.forRoute?.("r1")).toBe(open?.forRoute?.("r1"));
    const written = configured(routes, { ...ACME, timeoutMs: 9_000, gaps: ["headers"] }).get("~acme");
    expect(written?.forRoute?.("r1")?.entry).toMatchObject({ timeoutMs: 9_000, headers: { "x-team": "payments" } });
  });

  test("has one lease that outlasts the longest exchange of any route, one limit and one gate", () => {
    const routes = [
      route("r1", { delivery: delivery({ concurrency: 8 }) }),
      route("r2", { delivery: delivery({ concurrency: 4, timeoutMs: 60_000 }) }),
      route("other", { sharedCopies: [], delivery: delivery({ concurrency: 1 }) }),
    ];
    expect(configured(routes).get("~acme")?.policy).toMatchObject({ limit: 4, timeoutMs: 60_000, gate: { seq: 4 } });
    const own = { ...ACME, concurrency: 9, gaps: [], rateLimit: { requests: 5, perMs: 1_000, burst: 5 } };
    expect(configured(routes, own).get("~acme")?.policy).toMatchObject({ limit: 9, gate: { rate: { requests: 5 } } });
    expect(configured([route("r1")]).get("~acme")?.policy.limit).toBe(1);
  });

  test("keeps what it was given for ever: how long is each route's to say", () => {
    const { policy } = configured([route("r1")]).get("~acme") ?? {};
    expect(policy?.maxAgeMs).toBeGreaterThan(365 * DAY_MS);
    expect(policy?.policy.retention.deadLettersMs).toBeGreaterThan(365 * DAY_MS);
  });

  test("sends headers from Secrets, which win over the route's", () => {
    const acme = { ...ACME, headersFrom: { "x-team": "secret", authorization: "Bearer t" } };
    expect(
      configured([route("r1")], acme)
        .get("~acme")
        ?.forRoute?.("r1")?.entry.headers,
    ).toEqual({
      "x-team": "secret",
      authorization: "Bearer t",
    });
  });

  test("is left alone while it is suspended, or a Secret gives no value", () => {
    const suspended = (change: Partial<DestinationEntry>) =>
      configured([route("r1")], { ...ACME, ...change }).get("~acme")?.suspended;
    expect(suspended({})).toBe(false);
    expect(suspended({ suspended: true })).toBe(true);
    expect(suspended({ incomplete: ["spec.headersFrom[0].secretRef"] })).toBe(true);
  });

  test("serves every route whose events choose by id", () => {
    const { sharedCopies: ____, ...choosing } = route("r3", { destinationIdFrom: "json:/to" });
    expect(configured([choosing]).get("~acme")?.forRoute?.("r3")?.routeName).toBe("r3");
  });
});

describe("a WebhookDestination that events choose", () => {
  const choosing = (more: Partial<RouteEntry> = {}) => {
    const { sharedCopies: ____, ...entry } = route("r3", {
      destinationIdFrom: "json:/to",
      destinationLabels: { tier: "gold" },
      ...more,
    });
    return entry;
  };
  const isThere = (labels: Readonly<Record<string, string>> | undefined, more: Partial<RouteEntry> = {}) =>
    configured([choosing(more)], { ...ACME, ...(labels && { labels }) })
      .get("~acme")
      ?.forRoute?.("r3") !== undefined;

  test("must bear the labels that the route selects by", () => {
    expect(isThere({ tier: "gold", region: "eu" })).toBe(true);
    expect(isThere({ tier: "silver" })).toBe(false);
    expect(isThere({})).toBe(false);
    // Names of what every object has are no labels.
    expect(isThere({}, { destinationLabels: { constructor: "x" } })).toBe(false);
  });

  test("is open to all while the config is of an older controller, which tells no labels", () => {
    expect(isThere(undefined)).toBe(true);
    const { destinationLabels: _____, ...older } = choosing();
    expect(
      configured([older], { ...ACME, labels: {} })
        .get("~acme")
        ?.forRoute?.("r3"),
    ).toBeDefined();
  });

  test("has its limit from those alone that may choose it, and lays aside what a suspended one sent all the same", () => {
    const [open, strange] = [route("r1"), choosing({ suspend: "Delivery", delivery: delivery({ concurrency: 1 }) })];
    const wide = { ...open, delivery: delivery({ concurrency: 8 }) };
    const { policy } = configured([wide, strange], { ...ACME, labels: {} }).get("~acme") ?? {};
    expect(policy).toMatchObject({ limit: 8, shelving: ["r3"] });
  });
});

describe("a copy of a WebhookDestination", () => {
  const judge = (change: Partial<TakenCopy> = {}, more: Partial<RouteEntry> = {}) => {
    const destination = configured([route("r1", more)]).get("~acme");
    return judgeShared(destination?.forRoute ?? (() => undefined), copy(change), 0).type;
  };

  test("is sent by what its own route says", () => {
    expect(judge()).toBe("send");
  });

  test("waits while its route is not known here, is suspended, or cannot sign", () => {
    expect(judge({ route: "gone" })).toBe("gone");
    expect(judge({}, { suspend: "Delivery" })).toBe("park");
    expect(judge({}, { suspend: "Ingest" })).toBe("send");
    const signing = { scheme: "StandardWebhooks", header: "webhook-signature", keys: [] } as const;
    expect(judge({}, { delivery: delivery({ signing }) })).toBe("park");
  });

  test("expires by its route's maxAge, from receipt or the last revival", () => {
    const { now } = copy();
    const { maxAgeMs } = rest.retry;
    expect(judge({ receivedAt: now - maxAgeMs + 1 })).toBe("send");
    expect(judge({ receivedAt: now - maxAgeMs })).toBe("expired");
    expect(judge({ receivedAt: now - maxAgeMs, revivedAt: now - 1 })).toBe("send");
  });
});

describe("a copy whose WebhookDestination is missing", () => {
  const known = configured([route("r1", { sharedCopies: [] })]).routes.get("r1") as WorkerRoute;
  const old = (change: Partial<TakenCopy> = {}) => copy({ receivedAt: copy().now - MISSING_MS, ...change });

  test("is dead once the id has been missing for a minute, and says whether the event chose it", () => {
    expect(deathOfMissing(old(), { ...known, isChosenByEvents: true }, true)).toBe("NoSuchDestination");
    expect(deathOfMissing(old(), known, true)).toBe("DestinationRemoved");
    expect(deathOfMissing(old({ receivedAt: copy().now - MISSING_MS + 1 }), known, true)).toBeUndefined();
    expect(deathOfMissing(old({ revivedAt: copy().now - 1 }), known, true)).toBeUndefined();
  });

  test("is left alone while the config proves nothing", () => {
    expect(deathOfMissing(old(), known, false)).toBeUndefined();
    expect(deathOfMissing(old(), undefined, true)).toBeUndefined();
    expect(deathOfMissing(old({ seq: 8 }), known, true)).toBeUndefined();
    expect(deathOfMissing(old(), { ...known, suspended: true }, true)).toBeUndefined();
  });

  test("waits for it while its route names it", () => {
    const naming = configured([route("r1")]).routes.get("r1");
    expect(deathOfMissing(old(), naming, true)).toBeUndefined();
    const missing = (...routes: readonly RouteEntry[]) =>
      routeOfDestination(workerDestinations(routes, { destinations: [], isLive: () => true }), "~acme");
    const choosing = (more: Partial<RouteEntry> = {}) => {
      const { sharedCopies: ____, ...entry } = route("r3", { destinationIdFrom: "json:/to", ...more });
      return entry;
    };
    expect(missing(route("r1"))).toBeUndefined();
    expect(missing(route("r1", { sharedCopies: [] }))).toBeDefined();
    // Those of a route whose events choose are judged one by one, and those of a suspended one laid aside.
    expect(missing(route("r1"), choosing())).toBeDefined();
    expect(missing(route("r1"), choosing({ suspend: "All" }))).toBeUndefined();
    expect(missing(route("r1", { suspend: "All" }), choosing({ suspend: "Delivery" }))?.shelving).toEqual(["r1", "r3"]);
  });

  test("is looked at again the less often the longer it has waited", () => {
    const parked = (ms: number) => parkedMs(copy({ receivedAt: copy().now - ms }));
    expect([0, 6_000, 45_000, DAY_MS].map(parked)).toEqual([5_000, 6_000, 45_000, 60_000]);
    expect(parkedMs(copy({ receivedAt: 0, revivedAt: copy().now - 1_000 }))).toBe(5_000);
  });

  test("is taken to be judged only once the config is live", () => {
    expect(routeOfDestination(configured([route("r1")], ACME, false), "~gone")).toBeUndefined();
    expect(routeOfDestination(configured([route("r1")]), "~gone")).toBeDefined();
    expect(routeOfDestination(configured([route("r1")]), "r1/own")?.name).toBe("r1");
  });

  test("cannot be told from one that is there without users", () => {
    expect(sharedDestination(ACME, "shop", []).forRoute("r1")).toBeUndefined();
  });
});
