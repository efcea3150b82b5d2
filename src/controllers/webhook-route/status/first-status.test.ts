import { describe, expect, it } from "vitest";
import type { WebhookRouteStatus } from "../../../api/generated/webhook-route.ts";
import { heldBackFor } from "./first-status.ts";
import { PARTS } from "./status-findings.ts";

const PUBLISHED = { publishedAt: 1_000_000, now: 1_000_400 };

/** A status in which these conditions are not true. */
function statusWithout(...missing: readonly string[]): WebhookRouteStatus {
  const types = ["Ready", ...PARTS].filter((type) => type !== "Ready" || missing.length === 0);
  return {
    conditions: types.map((type) => ({
      type,
      status: missing.includes(type) ? "False" : "True",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T00:00:00Z",
      reason: "Reconciled",
      message: "",
    })),
  };
}

describe("the first status of a route", () => {
  it("is held back while gateways, ingress and workers are still coming", () => {
    expect(heldBackFor(undefined, statusWithout("Programmed"), PUBLISHED)).toBe(1_100);
    expect(heldBackFor({}, statusWithout("IngressReady", "WorkersAvailable"), PUBLISHED)).toBe(1_100);
  });

  it("is written once that takes longer than it should", () => {
    const late = { ...PUBLISHED, now: PUBLISHED.publishedAt + 1_500 };
    expect(heldBackFor(undefined, statusWithout("Programmed"), late)).toBeUndefined();
  });

  it("is written at once when the route is ready", () => {
    expect(heldBackFor(undefined, statusWithout(), PUBLISHED)).toBeUndefined();
  });

  it.each(["Accepted", "SecretsResolved", "DestinationsResolved"])("is written at once when %s is false", (part) => {
    expect(heldBackFor(undefined, statusWithout(part, "Programmed"), PUBLISHED)).toBeUndefined();
  });

  it("is written at once when only a person can end what is missing", () => {
    const { conditions = [] } = statusWithout("WorkersAvailable");
    const [condition] = conditions;
    if (condition === undefined) throw new Error("no condition");
    const stalled = { conditions: [...conditions, { ...condition, type: "Stalled", status: "True" as const }] };
    expect(heldBackFor(undefined, stalled, PUBLISHED)).toBeUndefined();
  });

  it("is written at once when nothing is published, or by a clock that is ahead of ours", () => {
    const unpublished = { publishedAt: undefined, now: 0 };
    expect(heldBackFor(undefined, statusWithout("Programmed"), unpublished)).toBeUndefined();
    const ahead = { publishedAt: PUBLISHED.now + 1, now: PUBLISHED.now };
    expect(heldBackFor(undefined, statusWithout("Programmed"), ahead)).toBeUndefined();
  });

  it("is the only one that is held back", () => {
    expect(heldBackFor(statusWithout(), statusWithout("Programmed"), PUBLISHED)).toBeUndefined();
  });
});
