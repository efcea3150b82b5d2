import { refuse, type Refusal } from "./refusal.ts";

/** How a signed timestamp is written. */
export type TimestampUnit = "seconds" | "milliseconds" | "rfc3339";

const DIGITS = /^\d{1,15}$/;
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Parses a timestamp strictly: digits only, or RFC 3339 §5.6. `123abc`, `1e3`, signs, blanks and fractions are no timestamps; `parseInt` in
 * several SDKs takes the first of them, which lets one signature stand for many texts.
 *
 * @returns Unix ms, or `undefined`
 */
export function parseTimestamp(text: string, unit: TimestampUnit): number | undefined {
  if (unit === "rfc3339") {
    const parsed = RFC3339.test(text) ? Date.parse(text) : Number.NaN;
    return Number.isNaN(parsed) ? undefined : parsed;
  }
  if (!DIGITS.test(text)) return undefined;
  return unit === "seconds" ? Number(text) * 1_000 : Number(text);
}

/**
 * Holds a timestamp against the clock, both ways. The clock is cut to the timestamp's unit, so that a timestamp in seconds is good for the
 * whole second in which it reaches the tolerance, as in the providers' SDKs.
 *
 * @returns `undefined` when it is inside the tolerance
 */
export function checkTimestamp(
  signedAt: number,
  now: number,
  toleranceMs: number,
  unit: TimestampUnit,
): Refusal | undefined {
  const clock = unit === "seconds" ? Math.floor(now / 1_000) * 1_000 : now;
  const age = clock - signedAt;
  if (age > toleranceMs) {
    return refuse("TimestampExpired", `signed ${age / 1_000} s ago, tolerance is ${toleranceMs / 1_000} s`);
  }
  if (-age > toleranceMs) {
    return refuse(
      "TimestampInFuture",
      `signed ${-age / 1_000} s ahead of this clock, tolerance is ${toleranceMs / 1_000} s`,
    );
  }
  return undefined;
}

/** Writes Unix ms in the unit. */
export function formatTimestamp(ms: number, unit: TimestampUnit): string {
  if (unit === "rfc3339") return new Date(ms).toISOString();
  return String(unit === "seconds" ? Math.floor(ms / 1_000) : ms);
}
