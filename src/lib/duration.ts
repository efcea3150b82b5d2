const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration such as `30s`, `1h30m` or `250ms`, the subset of Go's `time.ParseDuration` that CEL's `duration()` shares.
 *
 * @returns milliseconds
 * @throws RangeError if the text is no duration
 */
export function parseDuration(text: string): number {
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text)) {
    throw new RangeError(
      `"${text}" is not a duration: write a number and a unit (ms, s, m, h), for example 30s or 24h`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  }
  return total;
}

/** Formats milliseconds the way they are written in manifests: `90s`, `24h`, `1500ms`. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000}h`;
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000}m`;
  if (ms % 1_000 === 0) return `${ms / 1_000}s`;
  return `${ms}ms`;
}
