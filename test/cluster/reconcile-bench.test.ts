import { afterAll, beforeAll, expect, test } from "vitest";
import { benchReconcile, type ReconcileResult } from "../bench/reconcile.ts";
import { reconcileSummary, reconcileTable } from "../bench/reconcile-report.ts";
import { sumOf } from "../bench/reconcile/meters.ts";
import { type ControlPlane, startControlPlane } from "../support/control-plane.ts";

// A plane of its own, as the size of etcd is one of the figures.
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ crds: "davit" });
});
afterAll(() => plane?.stop());

const RESULT: ReconcileResult = {
  size: { namespaces: 50, routes: 1_000, edits: 100, steadyMs: 30_000 },
  coldStartS: 12.34,
  readyS: 15,
  controllerCpuS: 10,
  controllerRssMib: 200.4,
  writesPerRoute: 5.01,
  etcdGrowthMb: 12,
  workerDeployments: 50,
  steadyWritesPerS: 0.6,
  secretEditP50Ms: 30.4,
  secretEditP99Ms: 99.6,
};

test("the reconcile bench measures everything it reports, at ten routes", async () => {
  const result = await benchReconcile(plane, { namespaces: 2, routes: 10, edits: 3, steadyMs: 500 });
  const measured = Object.entries(result).filter(([name]) => name !== "size" && name !== "steadyWritesPerS");
  expect(measured.filter(([, value]) => !(value > 0))).toEqual([]);
  expect(result.workerDeployments).toBe(2);
  expect(result.secretEditP99Ms).toBeGreaterThanOrEqual(result.secretEditP50Ms);
  expect(result.readyS).toBeGreaterThanOrEqual(result.coldStartS);
}, 180_000);

test("the JSON line has four figures, and the table says which targets are missed", () => {
  expect(reconcileSummary(RESULT)).toEqual({
    reconcile: { cold_start_s: 12.3, controller_rss_mib: 200, secret_edit_p99_ms: 100, steady_writes_per_s: 0.6 },
  });
  const missed = reconcileTable(RESULT)
    .split("\n")
    .filter((line) => line.endsWith("MISSED"));
  expect(missed.map((line) => line.replaceAll(/ +/g, " "))).toEqual(["API writes a route 5.01 ≤ 5 MISSED"]);
});

test("samples of a metric are summed by their labels", () => {
  const text = 'calls{method="GET"} 3\ncalls{method="PUT"} 2\ncalls{method="POST"} 1\ncalls_total 9\nsize 4.5e+06\n';
  expect(sumOf(text, "calls", (labels) => !labels.includes('"GET"'))).toBe(3);
  expect(sumOf(text, "size")).toBe(4_500_000);
});
