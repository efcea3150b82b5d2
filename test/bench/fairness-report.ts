import { bytesPerDestination } from "./fairness/memory.ts";
import type { FairnessResult } from "./fairness.ts";
import { median, spread } from "./statistics.ts";

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Median of the rounds' own ratios: a pair ran in the same minute on the same machine. */
function ratio(of: readonly number[], to: readonly number[], digits: number): number {
  return round(median(of.map((value, at) => value / (to[at] ?? Number.NaN))), digits);
}

/** The form of `--json`. */
export function fairnessSummary({ others, parked, gates, digest, memory }: FairnessResult) {
  return {
    fairness: {
      others_p99_ratio: ratio(others.besideSlow, others.alone, 2),
      parked_commands_per_s: round(Math.max(parked.held, parked.disabled), 1),
      gates_on_vs_off: ratio(gates.on, gates.off, 3),
      digest_ratio: ratio(digest.many, digest.one, 3),
      bytes_per_destination: Math.round(bytesPerDestination(memory)),
    },
  };
}

type Figures = ReturnType<typeof fairnessSummary>["fairness"];

/** What is good enough, and how it is written. */
const TARGETS: readonly (readonly [keyof Figures, text: string, isMet: (value: number) => boolean])[] = [
  ["others_p99_ratio", "≤ 1.5", (value) => value <= 1.5],
  ["parked_commands_per_s", "< 50", (value) => value < 50],
  ["gates_on_vs_off", "≥ 0.8", (value) => value >= 0.8],
  ["digest_ratio", "≥ 0.35", (value) => value >= 0.35],
  ["bytes_per_destination", "≤ 400", (value) => value <= 400],
];

/** The table for people, with the targets and what the figures are made of. */
export function fairnessTable(result: FairnessResult): string {
  const { fairness } = fairnessSummary(result);
  const made = madeOf(result);
  return TARGETS.map(([name, text, isMet]) => {
    const value = fairness[name];
    const verdict = isMet(value) ? "met" : "MISSED";
    return `${name.padEnd(24)}${String(value).padStart(8)}  ${text.padEnd(8)}${verdict.padEnd(8)}${made[name]}`;
  }).join("\n");
}

function madeOf({ others, parked, gates, digest, memory }: FairnessResult): Readonly<Record<keyof Figures, string>> {
  const { one, most } = memory;
  return {
    others_p99_ratio: `p99 beside a slow destination ${ms(others.besideSlow)}, alone ${ms(others.alone)}`,
    parked_commands_per_s: `held ${parked.held.toFixed(1)}, disabled ${parked.disabled.toFixed(1)}; all commands, also those within scripts`,
    gates_on_vs_off: `with gate ${rate(gates.on)}, without ${rate(gates.off)}`,
    digest_ratio: `many destinations ${rate(digest.many)}, one ${rate(digest.one)}`,
    bytes_per_destination: `waiting: 32 destinations ${Math.round(most.waiting)}, one ${Math.round(one.waiting)}; delivered: ${Math.round(most.delivered)}, ${Math.round(one.delivered)}`,
  };
}

const half = (values: readonly number[]) => `± ${Math.round((spread(values) * 100) / 2)} %`;
const ms = (values: readonly number[]) => `${median(values).toFixed(1)} ms ${half(values)}`;
const rate = (values: readonly number[]) => `${Math.round(median(values))}/s ${half(values)}`;
