import type { CleanupResult } from "./cleanup.ts";
import { median, spread } from "./statistics.ts";

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Median of the rounds' own ratios: both sides of a round met the same minute of the machine. */
function ratio(of: readonly number[], to: readonly number[]): number {
  return round(median(of.map((value, at) => value / (to[at] ?? Number.NaN))), 2);
}

/** The form of `--json`. */
export function cleanupSummary({ planner, store, memory }: CleanupResult) {
  return {
    cleanup: {
      planner_versions_per_s: Math.round(median(planner)),
      dry_run_vs_enforce: ratio(store.enforce, store.dryRun),
      executor_vs_store: ratio(store.batches, store.enforce),
      rss_mib_1m: Math.round(memory.many),
    },
  };
}

type Figures = ReturnType<typeof cleanupSummary>["cleanup"];

/** What is good enough, and how it is written. */
const TARGETS: readonly (readonly [keyof Figures, text: string, isMet: (value: number) => boolean])[] = [
  ["planner_versions_per_s", "≥ 200000", (value) => value >= 200_000],
  ["dry_run_vs_enforce", "≥ 2", (value) => value >= 2],
  ["executor_vs_store", "≥ 0.8", (value) => value >= 0.8],
  ["rss_mib_1m", "< 150", (value) => value < 150],
];

/** The table for people, with the targets and what the figures are made of. */
export function cleanupTable(result: CleanupResult): string {
  const { cleanup } = cleanupSummary(result);
  const { planner, store, memory } = result;
  const made: Readonly<Record<keyof Figures, string>> = {
    planner_versions_per_s: `± ${Math.round((spread(planner) * 100) / 2)} %`,
    dry_run_vs_enforce: `enforce ${seconds(store.enforce)}, dry run ${seconds(store.dryRun)}`,
    executor_vs_store: `the store's own batches ${seconds(store.batches)}, enforce ${seconds(store.enforce)}`,
    rss_mib_1m: `${Math.round(memory.few)} MiB with a hundredth of the versions`,
  };
  return TARGETS.map(([name, text, isMet]) => {
    const value = cleanup[name];
    const verdict = isMet(value) ? "met" : "MISSED";
    return `${name.padEnd(24)}${String(value).padStart(9)}  ${text.padEnd(10)}${verdict.padEnd(8)}${made[name]}`;
  }).join("\n");
}

const seconds = (values: readonly number[]) =>
  `${median(values).toFixed(2)} s ± ${Math.round((spread(values) * 100) / 2)} %`;
