import type { DeliveryResult } from "./delivery.ts";
import type { IngestResult } from "./ingest.ts";
import { median, spread } from "./statistics.ts";

export interface BenchResults {
  readonly ingest?: IngestResult;
  readonly delivery?: DeliveryResult;
  readonly bytesPerEvent?: number;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Median of the rounds' own ratios: a pair ran in the same minute on the same machine. */
function ratio(of: readonly number[], to: readonly number[]): number {
  return round(median(of.map((value, at) => value / (to[at] ?? Number.NaN))), 3);
}

/** The parts that ran, in the form of `--json`. Rates are medians over the rounds. */
export function summary({ ingest, delivery }: BenchResults) {
  return {
    ...(ingest && {
      ingest: {
        davit_rps: round(median(ingest.rps.davit), 0),
        plain_rps: round(median(ingest.rps.plain), 0),
        ceiling_rps: round(median(ingest.rps.ceiling), 0),
        vs_plain: ratio(ingest.rps.davit, ingest.rps.plain),
        vs_ceiling: ratio(ingest.rps.davit, ingest.rps.ceiling),
        p99_ms: round(ingest.p99Ms.davit, 1),
      },
    }),
    ...(delivery && {
      delivery: {
        davit_rps: round(median(delivery.rps.davit), 0),
        ceiling_rps: round(median(delivery.rps.ceiling), 0),
        vs_ceiling: ratio(delivery.rps.davit, delivery.rps.ceiling),
      },
    }),
  };
}

function row(name: string, rates: readonly number[], davit: readonly number[], p99Ms?: number): string {
  const cells = [
    name.padEnd(26),
    `${Math.round(median(rates))}/s`.padStart(10),
    `± ${Math.round((spread(rates) * 100) / 2)} %`.padStart(8),
    (p99Ms === undefined ? "" : `${p99Ms.toFixed(1)} ms`).padStart(10),
    (rates === davit ? "" : `${ratio(davit, rates).toFixed(2)} ×`).padStart(10),
  ];
  return cells.join("  ");
}

/** The table for people: median, half of the range over the rounds, p99, and Davit's rate relative to the row's. */
export function table({ ingest, delivery, bytesPerEvent }: BenchResults): string {
  const heads = ["", "median", "spread", "p99", "davit is"];
  const head = heads
    .map((text, at) => (at === 0 ? text.padEnd(26) : text.padStart([0, 10, 8, 10, 10][at] ?? 0)))
    .join("  ");
  const lines = [head];
  if (ingest) {
    const { rps, p99Ms } = ingest;
    lines.push(row("ingest: davit", rps.davit, rps.davit, p99Ms.davit));
    lines.push(row("ingest: plain recipe", rps.plain, rps.davit, p99Ms.plain));
    lines.push(row("ingest: ceiling", rps.ceiling, rps.davit, p99Ms.ceiling));
  }
  if (delivery) {
    lines.push(row("delivery: davit", delivery.rps.davit, delivery.rps.davit));
    lines.push(row("delivery: bare undici loop", delivery.rps.ceiling, delivery.rps.davit));
  }
  if (bytesPerEvent !== undefined)
    lines.push(`Redis memory per queued 1 KiB event: ${Math.round(bytesPerEvent)} bytes`);
  return lines.join("\n");
}
