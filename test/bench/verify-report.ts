import { median, spread } from "./statistics.ts";
import type { VerifyResult, VerifyTimes } from "./verify.ts";

/** Largest ratio that is good enough. */
const TARGET = 1.3;

/** Median of the pairs' own ratios: what slowed one side down has mostly slowed the other one, too. */
function vsHmac({ davitNs, hmacNs }: VerifyTimes): number {
  return Number(median(davitNs.map((ns, at) => ns / (hmacNs[at] ?? Number.NaN))).toFixed(3));
}

/** The form of `--json`. */
export function verifySummary(result: VerifyResult) {
  const ratios = Object.entries(result).map(([provider, times]) => [provider, { vs_hmac: vsHmac(times) }]);
  return { verify: Object.fromEntries(ratios) as Readonly<Record<string, { readonly vs_hmac: number }>> };
}

/** The table for people, with the target. */
export function verifyTable(result: VerifyResult): string {
  const rows = Object.entries(result).map(([provider, times]) => {
    const ratio = vsHmac(times);
    const cells = [micros(median(times.davitNs)), percent(times.davitNs), micros(median(times.hmacNs)), `${ratio} ×`];
    return line(provider, [...cells, `≤ ${TARGET} ×`], ratio <= TARGET ? "met" : "MISSED");
  });
  return [line("", ["davit", "spread", "bare HMAC", "davit is", "target"], ""), ...rows].join("\n");
}

const micros = (ns: number) => `${(ns / 1_000).toFixed(2)} µs`;
const percent = (values: readonly number[]) => `± ${Math.round((spread(values) * 100) / 2)} %`;

function line(name: string, cells: readonly string[], verdict: string): string {
  return `${name.padEnd(20)}${cells.map((cell) => cell.padStart(11)).join("")}  ${verdict}`.trimEnd();
}
