import { describe, expect, it } from "vitest";
import type { Lease } from "../../../kube/core-types.ts";
import type { Live } from "../../../kube/objects.ts";
import { buildObservations, OBSERVATIONS_ANNOTATION, type RouteObservation } from "../../../routes/observations.ts";
import { GatewayObservations } from "./gateway-observations.ts";

const KEY = "0123456789abcdef";
const OTHER = "fedcba9876543210";

/** A Lease renewed at `beat`, with what its gateway saw; a number is `refused` of as many requests. */
function lease(beat: number, seen: Readonly<Record<string, number | Partial<RouteObservation>>> = {}): Live<Lease> {
  const routes = Object.entries(seen).map(([key, one]) => ({
    key,
    requests: typeof one === "number" ? one : 0,
    verified: 0,
    refused: typeof one === "number" ? one : 0,
    slow: 0,
    ...(typeof one === "number" ? {} : one),
  }));
  const annotations = { [OBSERVATIONS_ANNOTATION]: buildObservations(routes) };
  return {
    metadata: { name: "a", uid: "u", resourceVersion: String(beat), annotations },
    spec: { renewTime: `beat ${beat}` },
  };
}

function start() {
  let now = 0;
  const seen = new GatewayObservations({ now: () => now });
  return { seen, pass: (ms: number) => (now += ms) };
}

describe("what gateways saw", () => {
  it("is unknown without a gateway, and nothing bad of a route that none names", () => {
    const { seen } = start();
    expect(seen.of(KEY)).toBeUndefined();
    seen.putLease("a", lease(1));
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: false, isSlow: false }, sum: { requests: 0 } });
  });

  it("is summed up over all of them", () => {
    const { seen } = start();
    expect(seen.putLease("a", lease(1, { [KEY]: 6 }))).toEqual([]);
    expect(seen.putLease("b", lease(1, { [KEY]: 6, [OTHER]: 3 }))).toEqual([KEY]);
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: true }, sum: { requests: 12, refused: 12 } });
    expect(seen.putLease("c", lease(1, { [KEY]: { requests: 40, refused: 1 } }))).toEqual([KEY]);
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: false } });
  });

  it("is news only when something else is to be said", () => {
    const { seen } = start();
    expect(seen.putLease("a", lease(1, { [KEY]: 20 }))).toEqual([KEY]);
    expect(seen.putLease("a", lease(2, { [KEY]: 30 }))).toEqual([]);
    expect(seen.putLease("a", lease(3, { [KEY]: 30 }))).toEqual([]);
    expect(seen.putLease("a", lease(4))).toEqual([KEY]);
    expect(seen.putLease("a", lease(5))).toEqual([]);
  });

  it("tells of slow answers as well", () => {
    const { seen } = start();
    expect(seen.putLease("a", lease(1, { [KEY]: { requests: 100, slow: 2 } }))).toEqual([KEY]);
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: false, isSlow: true } });
  });

  it("counts no more once a gateway is gone", () => {
    const { seen } = start();
    seen.putLease("a", lease(1));
    seen.putLease("b", lease(1, { [KEY]: 20 }));
    expect(seen.putLease("b", undefined)).toEqual([KEY]);
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: false } });
    seen.putLease("a", undefined);
    expect(seen.of(KEY)).toBeUndefined();
  });

  it("counts no more once a gateway is silent, and again when it speaks", () => {
    const { seen, pass } = start();
    seen.putLease("a", lease(1, { [KEY]: 20 }));
    pass(20_000);
    // An event of the watch that is no heartbeat.
    seen.putLease("a", lease(1, { [KEY]: 20 }));
    pass(10_001);
    expect(seen.of(KEY)).toBeUndefined();
    seen.putLease("b", lease(1));
    expect(seen.of(KEY)).toMatchObject({ verdict: { isFailing: false } });
    expect(seen.putLease("a", lease(2, { [KEY]: 20 }))).toEqual([KEY]);
  });

  it("is nothing where an older gateway says nothing, or somebody wrote nonsense", () => {
    const { seen } = start();
    const strange = {
      ...lease(1),
      metadata: { ...lease(1).metadata, annotations: { [OBSERVATIONS_ANNOTATION]: "{" } },
    };
    expect(seen.putLease("a", strange)).toEqual([]);
    const { annotations: _, ...metadata } = lease(1).metadata;
    expect(seen.putLease("b", { ...lease(1), metadata })).toEqual([]);
    expect(seen.of(KEY)).toMatchObject({ sum: { requests: 0 } });
  });
});
