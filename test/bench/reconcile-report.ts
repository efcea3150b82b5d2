import type { ReconcileResult } from "./reconcile.ts";

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** The form of `--json`. */
export function reconcileSummary(result: ReconcileResult) {
  return {
    reconcile: {
      cold_start_s: round(result.coldStartS, 1),
      controller_rss_mib: round(result.controllerRssMib, 0),
      secret_edit_p99_ms: round(result.secretEditP99Ms, 0),
      steady_writes_per_s: round(result.steadyWritesPerS, 2),
    },
  };
}

interface Row {
  readonly name: string;
  readonly of: (result: ReconcileResult) => number;
  readonly digits: number;
  readonly unit: string;
  /** Largest value that is good enough. */
  readonly target?: number;
}

/** What is measured, and the targets, which hold for 1,000 routes in 50 namespaces on 2 cores. */
const ROWS: readonly Row[] = [
  { name: "cold start until all are Programmed", of: (r) => r.coldStartS, digits: 1, unit: "s", target: 60 },
  { name: "cold start until all are Ready", of: (r) => r.readyS, digits: 1, unit: "s" },
  { name: "controller, CPU until then", of: (r) => r.controllerCpuS, digits: 1, unit: "s" },
  { name: "controller, most memory (RSS)", of: (r) => r.controllerRssMib, digits: 0, unit: "MiB", target: 256 },
  { name: "API writes a route", of: (r) => r.writesPerRoute, digits: 2, unit: "", target: 5 },
  { name: "etcd growth", of: (r) => r.etcdGrowthMb, digits: 1, unit: "MB", target: 20 },
  { name: "worker Deployments", of: (r) => r.workerDeployments, digits: 0, unit: "", target: 60 },
  { name: "steady state, writes with Leases", of: (r) => r.steadyWritesPerS, digits: 2, unit: "/s", target: 1 },
  { name: "Secret edit to gateway, p50", of: (r) => r.secretEditP50Ms, digits: 0, unit: "ms" },
  { name: "Secret edit to gateway, p99", of: (r) => r.secretEditP99Ms, digits: 0, unit: "ms", target: 1_000 },
];

function line(name: string, value: string, target: string, verdict: string): string {
  return `${name.padEnd(38)}${value.padStart(12)}${target.padStart(12)}  ${verdict}`.trimEnd();
}

/** The table for people, with targets. */
export function reconcileTable(result: ReconcileResult): string {
  const lines = ROWS.map(({ name, of, digits, unit, target }) => {
    const value = of(result);
    const verdict = target === undefined ? "" : value <= target ? "met" : "MISSED";
    const text = (number: string) => `${number} ${unit}`.trimEnd();
    return line(name, text(value.toFixed(digits)), target === undefined ? "" : `≤ ${text(String(target))}`, verdict);
  });
  return [line("", "measured", "target", ""), ...lines].join("\n");
}
