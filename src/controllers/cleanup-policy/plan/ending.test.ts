import { describe, expect, test } from "vitest";
import { planOrphans } from "./plan-orphans.ts";
import { admitted, DAY, HOUR, NOON, planOf, runOf, said } from "./testing.ts";
import { LEASE_DEAD_MS, rfc3339, type RunView } from "./views.ts";

/** A run that somebody works on, or did: since `seenAt` its lease is as it is. */
function held(seenAt: number, spec: Parameters<typeof runOf>[1] = {}): RunView {
  const lease = { holder: "pod", token: "t1", renewedAt: "2001-01-01T00:00:00Z" };
  const status = { ...admitted("Enforce", "Running"), lease, nextAttemptAt: rfc3339(NOON) };
  return { ...runOf("r", spec, status), leaseSeenAt: seenAt };
}

describe("a run of a policy that is gone", () => {
  test("is rejected when it was not admitted", () => {
    expect(said(planOrphans([runOf("r")], NOON).statuses)).toEqual(["r Rejected/PolicyGone"]);
  });

  test("is left to whoever works on it, until its lease has not been renewed for a minute by our own clock", () => {
    const run = held(NOON);
    expect(planOrphans([run], NOON + LEASE_DEAD_MS - 1)).toEqual({
      statuses: [],
      prune: [],
      nextLookAt: NOON + LEASE_DEAD_MS,
    });
    const [write] = planOrphans([run], NOON + LEASE_DEAD_MS).statuses;
    expect(write?.status).toMatchObject({
      phase: "Cancelled",
      reason: "PolicyGone",
      finishedAt: rfc3339(NOON + LEASE_DEAD_MS),
      snapshot: { mode: "Enforce" },
    });
    expect(write?.status).not.toHaveProperty("lease");
    expect(write?.status).not.toHaveProperty("nextAttemptAt");
  });

  test("is ended at once when nobody works on it", () => {
    expect(said(planOrphans([runOf("r", {}, admitted("Enforce"))], NOON).statuses)).toEqual(["r Cancelled/PolicyGone"]);
  });

  test("stays as it is when it has ended", () => {
    expect(planOrphans([runOf("r", {}, admitted("Enforce", "Succeeded"))], NOON).statuses).toEqual([]);
  });
});

describe("a run that is cancelled", () => {
  test("is ended by whoever works on it, and here when nobody does", () => {
    expect(planOf({ runs: [held(NOON, { cancel: true })], now: NOON + 1_000 }).statuses).toEqual([]);
    const later = planOf({ runs: [held(NOON, { cancel: true })], now: NOON + LEASE_DEAD_MS });
    expect(said(later.statuses)).toEqual(["r Cancelled/Cancelled"]);
    const idle = runOf("r", { cancel: true }, admitted("Enforce"));
    expect(said(planOf({ runs: [idle] }).statuses)).toEqual(["r Cancelled/Cancelled"]);
  });

  test("with a lease of which nobody knows since when it is so is taken for held", () => {
    const run = { ...held(NOON, { cancel: true }), leaseSeenAt: undefined };
    expect(planOf({ runs: [run], now: NOON + DAY / 2 }).statuses).toEqual([]);
  });
});

describe("a run that outlives its deadline", () => {
  test("is ended by its cleaner, and five minutes later here when that did not happen", () => {
    const run = runOf("r", {}, admitted("Enforce"));
    const at = NOON + 24 * HOUR + 300_000;
    expect(planOf({ runs: [run], now: at - 1 })).toMatchObject({ statuses: [], nextLookAt: at });
    expect(said(planOf({ runs: [run], now: at }).statuses)).toEqual(["r Failed/DeadlineExceeded"]);
  });

  test("is ended whether or not the policy is accepted or suspended", () => {
    const run = runOf("r", {}, admitted("Enforce"));
    expect(said(planOf({ runs: [run], accepted: undefined, now: NOON + 2 * DAY }).statuses)).toHaveLength(1);
  });

  test("is left alone while somebody works on it", () => {
    const now = NOON + 2 * DAY;
    expect(planOf({ runs: [held(now - 1_000)], now }).statuses).toEqual([]);
  });
});
