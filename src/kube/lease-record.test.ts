import { expect, test } from "vitest";
import { claimedSpec, leaseFacts, LeaseObservation, releasedSpec } from "./lease-record.ts";

const claim = { identity: "me", durationMs: 15_000, now: Date.parse("2030-01-02T03:04:05.678Z") };

test("a Lease that was never held is taken without counting a transition", () => {
  expect(claimedSpec(undefined, claim)).toEqual({
    holderIdentity: "me",
    leaseDurationSeconds: 15,
    acquireTime: "2030-01-02T03:04:05.678000Z",
    renewTime: "2030-01-02T03:04:05.678000Z",
    leaseTransitions: 0,
  });
});

test("renewing keeps since when it is held; taking it from another counts a transition", () => {
  const mine = { holderIdentity: "me", acquireTime: "2029-01-01T00:00:00.000000Z", leaseTransitions: 4 };
  expect(claimedSpec(mine, claim)).toMatchObject({ acquireTime: mine.acquireTime, leaseTransitions: 4 });
  expect(claimedSpec({ ...mine, holderIdentity: "other" }, claim)).toMatchObject({
    acquireTime: "2030-01-02T03:04:05.678000Z",
    leaseTransitions: 5,
  });
});

test("a released Lease is held by nobody and runs out at once", () => {
  expect(releasedSpec({ holderIdentity: "me", leaseTransitions: 4 }, claim.now)).toMatchObject({
    holderIdentity: "",
    leaseDurationSeconds: 1,
    leaseTransitions: 4,
  });
});

const facts = (holder: string, resourceVersion: string) => ({ holder, resourceVersion, durationMs: 15_000 });

test("another's Lease is free its duration after it was seen to change last, whatever its times say", () => {
  const seen = new LeaseObservation();
  expect(seen.freeFor("me", 0)).toBe(false);
  expect(seen.freeInMs("me", 0)).toBe(Number.POSITIVE_INFINITY);
  seen.see(facts("other", "1"), 1_000);
  seen.see(facts("other", "1"), 15_000);
  expect(seen.freeInMs("me", 15_400)).toBe(600);
  expect(seen.freeFor("me", 15_999)).toBe(false);
  expect(seen.freeFor("me", 16_000)).toBe(true);
  seen.see(facts("other", "2"), 16_000);
  expect(seen.freeFor("me", 30_999)).toBe(false);
});

test("a Lease that nobody holds, or that is ours, is free", () => {
  const seen = new LeaseObservation();
  seen.see(facts("", "1"), 0);
  expect(seen.freeFor("me", 0)).toBe(true);
  seen.see(facts("me", "2"), 0);
  expect(seen.freeFor("me", 0)).toBe(true);
});

test("a Lease without a spec is held by nobody", () => {
  expect(leaseFacts({ metadata: { name: "l", resourceVersion: "7" } })).toEqual({
    holder: "",
    resourceVersion: "7",
    durationMs: 0,
  });
});
