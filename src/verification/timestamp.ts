import { refuse, type Refusal } from "./refusal.ts";

/** How a signed timestamp is written. */
export type TimestampUnit = "seconds" | "milliseconds" | "rfc3339";

/** More digits than any time has, few enough to be a number exactly. */
const MAX_DIGITS = 15;
const RFC3339 = /^(\d{4}-\d{2}-(\d{2}))T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Length in digits from 2001 to 2286. */
const USUAL_DIGITS: Readonly<Record<TimestampUnit, number | undefined>> = {
  seconds: 10,
  milliseconds: 13,
  rfc3339: undefined,
};

/**
 * Parses a timestamp strictly: digits only, or RFC 3339 §5.6. `123abc`, `1e3`, signs, blanks and fractions are no timestamps; `parseInt` in
 * several SDKs takes the first of them, which lets one signature stand for many texts.
 *
 * @returns Unix ms, or `undefined`
 */
export function parseTimestamp(text: string, unit: TimestampUnit): number | undefined {
  if (unit === "rfc3339") return parseRfc3339(text);
  if (!isDigits(text)) return undefined;
  return unit === "seconds" ? Number(text) * 1_000 : Number(text);
}

/** A loop, since a pattern costs several times as much on the hot path. */
function isDigits(text: string): boolean {
  if (text.length === 0 || text.length > MAX_DIGITS) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

function parseRfc3339(text: string): number | undefined {
  const [, date, day] = RFC3339.exec(text) ?? [];
  if (date === undefined) return undefined;
  // Date.parse makes 1 March of 30 February.
  const midnight = new Date(`${date}T00:00:00Z`);
  return midnight.getUTCDate() === Number(day) ? Date.parse(text) : undefined;
}

/** Whether a timestamp has as many digits as its unit has today. */
export function hasUsualLength(text: string, unit: TimestampUnit): boolean {
  const digits = USUAL_DIGITS[unit];
  return digits === undefined || text.length === digits;
}

/**
 * Holds a timestamp against the clock, both ways. The clock is cut to the timestamp's unit, so that a timestamp in seconds is good for the
 * whole second in which it reaches the tolerance, as in the providers' SDKs.
 *
 * @param toleranceMs 0: not held against the clock
 * @returns `undefined` when it is inside the tolerance
 */
export function checkTimestamp(
  signedAt: number,
  now: number,
  toleranceMs: number,
  unit: TimestampUnit,
): Refusal | undefined {
  if (toleranceMs === 0) return undefined;
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

/** Clocks of gateways and of Redis differ, and a timestamp in seconds is good for the whole of its last one. */
const NONCE_SLACK_MS = 60_000;

/** Nothing is remembered longer. */
const MAX_NONCE_MS = 400 * 86_400_000;

/**
 * For how long a nonce must be remembered that was signed with this time: until no clock takes it any more.
 *
 * @param toleranceMs 0: for ever, which nothing can remember; the dedupe window must do
 */
export function nonceGoodFor(signedAt: number, now: number, toleranceMs: number): { readonly nonceGoodForMs?: number } {
  return toleranceMs === 0 ? {} : nonceGoodUntil(signedAt + toleranceMs, now);
}

/** {@link nonceGoodFor} of what says itself until when it is good, Unix ms. */
export function nonceGoodUntil(until: number, now: number): { readonly nonceGoodForMs: number } {
  return { nonceGoodForMs: Math.min(Math.max(0, until - now) + NONCE_SLACK_MS, MAX_NONCE_MS) };
}

/** Writes Unix ms in the unit. */
export function formatTimestamp(ms: number, unit: TimestampUnit): string {
  if (unit === "rfc3339") return new Date(ms).toISOString();
  return String(unit === "seconds" ? Math.floor(ms / 1_000) : ms);
}
