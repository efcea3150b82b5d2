import { beforeEach, expect, test } from "vitest";
import type { GateView } from "../../custody/gate.ts";
import type { DestinationObject } from "./destination-types.ts";
import { GateReports } from "./gate-reports.ts";
import { gateStatus } from "./status.ts";

let now: number;
let queued: string[];
let statuses: Map<string, DestinationObject["status"]>;
let reports: GateReports;

const view = (state: GateView["state"], more: Partial<GateView> = {}): GateView => ({
  state,
  generation: 1,
  consecutiveFailures: 0,
  ...more,
});
/** The status of a destination as the reconcile that was queued writes it. */
function write(key: string): void {
  const report = reports.of(key);
  if (report !== undefined) statuses.set(key, gateStatus(report));
}

beforeEach(() => {
  [now, queued, statuses] = [1_000_000, [], new Map()];
  reports = new GateReports({
    clock: { monotonic: () => now },
    statusOf: (key) => statuses.get(key),
    enqueue: (key) => {
      queued.push(key);
      write(key);
    },
  });
});

test("a gate that opens and closes again and again is written at most once a minute", () => {
  for (let second = 0; second < 180; second++) {
    reports.note("shop/acme", view(second % 2 === 0 ? "Open" : "Closed"));
    reports.release();
    now += 1_000;
  }
  expect(queued.length).toBeGreaterThan(1);
  expect(queued.length).toBeLessThanOrEqual(3);
});

test("a gate that is as its status says is not written, nor is one that never changed", () => {
  statuses.set("shop/open", { circuit: "Open" });
  reports.note("shop/open", view("HalfOpen"));
  reports.note("shop/new", view("Closed"));
  reports.note("shop/held", view("Held"));
  reports.release();
  expect(queued).toEqual([]);
});

test("a disabled one is told with its reason and since when", () => {
  reports.note("shop/acme", view("Disabled", { reason: "Gone", changedAt: 1_700_000_000_000 }));
  reports.release();
  expect(statuses.get("shop/acme")).toEqual({
    circuit: "Open",
    disabled: { reason: "Gone", since: "2023-11-14T22:13:20Z" },
  });
  now += 60_000;
  reports.note("shop/acme", view("Closed"));
  reports.release();
  expect(statuses.get("shop/acme")).toEqual({ circuit: "Closed" });
});

test("ten a second are written, however many gates change at once, and none of those that are gone", () => {
  for (let n = 0; n < 100; n++) reports.note(`shop/${n}`, view("Open"));
  reports.keepOnly((key) => key !== "shop/0");
  reports.release();
  expect(queued).toHaveLength(10);
  now += 1_000;
  reports.release();
  expect(queued).toHaveLength(20);
  expect(queued).not.toContain("shop/0");
});
