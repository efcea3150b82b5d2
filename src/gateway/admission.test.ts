import { describe, expect, it } from "vitest";
import { HEALTHY, routeEntry } from "./testing.ts";
import { createMetrics } from "../observability/metrics.ts";
import type { RouteEntry } from "../routes/entry.ts";
import { Admission } from "./admission.ts";
import { ObservationWindow } from "./observation-window.ts";
import { prepareRoute } from "./prepared-route.ts";
import { TokenBucket } from "../lib/token-bucket.ts";

const metrics = createMetrics();
const limits = routeEntry().limits;
const client = () => "192.0.2.1";

function admission(pods = 1): Admission {
  return new Admission({ health: () => HEALTHY, backlog: () => 0, pods: () => pods });
}

function prepared(changes: Partial<RouteEntry> = {}) {
  return prepareRoute(routeEntry(changes), metrics, new ObservationWindow());
}

describe("TokenBucket", () => {
  it("gives its burst at once, then one token each time it was refilled", () => {
    const bucket = new TokenBucket(2, 1 / 1_024, 0);
    expect([
      bucket.take(0),
      bucket.take(0),
      bucket.take(0),
      bucket.take(1_023),
      bucket.take(1_024),
      bucket.take(1_024),
    ]).toEqual([0, 0, 1_024, 1, 0, 1_024]);
  });

  it("never holds more than its burst, and a clock that steps back takes nothing", () => {
    const bucket = new TokenBucket(1, 1, 1_000);
    expect([bucket.take(99_000), bucket.take(0), bucket.take(0)]).toEqual([0, 1, 1]);
  });
});

describe("Admission", () => {
  it("keeps what is in flight over an edit of the route, and its bucket while the rate is the same", () => {
    const gate = admission();
    const rateLimit = { requests: 1, perMs: 1_000_000, burst: 2, by: "Route" } as const;
    const edited = (seq: number) => prepared({ seq, limits: { ...limits, rateLimit, maxInFlightPerPod: 9 } });
    expect(gate.enter(edited(1), client, 0)).toBeUndefined();
    expect(gate.enter(edited(2), client, 0)).toBeUndefined();
    expect(gate.enter(edited(3), client, 0)).toMatchObject({ reason: "RateLimited", retryAfter: 1_000 });
    expect(gate.inFlight()).toBe(2);
    gate.release(edited(4));
    expect(gate.inFlight()).toBe(1);
    expect(
      gate.enter(prepared({ limits: { ...limits, rateLimit: { ...rateLimit, burst: 1 } } }), client, 0),
    ).toBeUndefined();
  });

  it("shares a rate by Route out over the pods", () => {
    const rateLimit = { requests: 4, perMs: 1_000, burst: 4, by: "Route" } as const;
    const gate = admission(2);
    const route = prepared({ limits: { ...limits, rateLimit } });
    const answers = Array.from({ length: 3 }, () => gate.enter(route, client, 0)?.reason ?? "in");
    expect(answers).toEqual(["in", "in", "RateLimited"]);
  });

  it("does not count what it turned away", () => {
    const gate = admission();
    const route = prepared({ limits: { ...limits, maxInFlightPerPod: 1 } });
    expect(gate.enter(route, client, 0)).toBeUndefined();
    expect(gate.enter(route, client, 0)).toEqual({ reason: "TooManyInFlight" });
    expect(gate.inFlight()).toBe(1);
  });
});

describe("a request from inside the cluster", () => {
  it("shares the places in flight with the public listener, and gives its own back", () => {
    const gate = admission();
    const route = prepared({ limits: { ...limits, maxInFlightPerPod: 2 } });
    expect([gate.enter(route, client, 0), gate.enterInside(route)]).toEqual([undefined, undefined]);
    expect(gate.enterInside(route)).toEqual({ reason: "TooManyInFlight" });
    expect(gate.enter(route, client, 0)).toEqual({ reason: "TooManyInFlight" });
    gate.release(route);
    expect(gate.enterInside(route)).toBeUndefined();
    expect(gate.inFlight()).toBe(2);
  });

  it("is turned away by a suspended route, a full backlog and a store that takes nothing", () => {
    for (const suspend of ["Ingest", "All"] as const) {
      expect(admission().enterInside(prepared({ suspend }))).toEqual({ reason: "Suspended" });
    }
    expect(admission().enterInside(prepared({ suspend: "Delivery" }))).toBeUndefined();
    const full = prepared({ limits: { ...limits, maxBacklog: 5 } });
    const at = (backlog: number, health = HEALTHY) =>
      new Admission({ health: () => health, backlog: () => backlog, pods: () => 1 }).enterInside(full);
    expect([at(4), at(5)]).toEqual([undefined, { reason: "BacklogFull" }]);
    expect(at(0, { ...HEALTHY, up: false })).toEqual({ reason: "StoreUnavailable" });
    expect(at(0, { ...HEALTHY, durable: { ...HEALTHY.durable, ok: false } })).toEqual({ reason: "StoreUnavailable" });
    expect(at(0, { ...HEALTHY, memoryRatio: 0.85 })).toEqual({ reason: "StoreFull" });
  });

  it("is not held back by rates and address ranges, which are rules for the outside", () => {
    const gate = admission();
    const rateLimit = { requests: 1, perMs: 1_000, burst: 1, by: "Route" } as const;
    const route = prepared({ limits: { ...limits, rateLimit }, allowedSourceRanges: ["192.0.2.9/32"] });
    expect([gate.enterInside(route), gate.enterInside(route)]).toEqual([undefined, undefined]);
  });
});
