/** No hint reaches further than 7 days, ms. */
export const MAX_HINT_MS = 604_800_000;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** RFC 9110 §5.6.7. The obsolete forms (RFC 850, asctime) are left out. */
const IMF_FIXDATE =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60) GMT$/;

/**
 * Reads a `Retry-After` field value (RFC 9110 §10.2.3): digits are seconds, else an IMF-fixdate.
 *
 * @param now Unix ms
 * @returns ms from now, at most {@link MAX_HINT_MS}; `undefined` for anything else (`-1`, `1.5`, `120junk`, two values, nothing) and for a
 * date that has passed. 0 is a valid hint that lengthens nothing.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.replace(/^[ \t]+|[ \t]+$/g, "");
  if (text === undefined || text === "") return undefined;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_HINT_MS);
  const date = parseImfFixdate(text);
  return date === undefined || date <= now ? undefined : Math.min(date - now, MAX_HINT_MS);
}

/** @returns Unix ms, `undefined` when it is no such date (30 February is none) */
function parseImfFixdate(text: string): number | undefined {
  const [, day, monthName, year, hour, minute, second] = IMF_FIXDATE.exec(text) ?? [];
  const month = monthName === undefined ? -1 : MONTHS.indexOf(monthName);
  if (month < 0) return undefined;
  const midnight = Date.UTC(Number(year), month, Number(day));
  // Date.UTC carries a day that the month lacks over into the next month.
  if (new Date(midnight).getUTCDate() !== Number(day)) return undefined;
  return midnight + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1_000;
}
