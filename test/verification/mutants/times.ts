import type { TextChange } from "./mutation.ts";

const DIGITS = /\b\d{10,13}\b/;
const RFC3339 = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})/;

/** Whether there is a timestamp in it. */
export function hasTime(text: string): boolean {
  return RFC3339.test(text) || DIGITS.test(text);
}

/**
 * Other timestamps, and other ways to write the same one.
 *
 * @param toleranceSec how far the clock may be off
 */
export function timeChanges(text: string, toleranceSec: number): readonly TextChange[] {
  const date = RFC3339.exec(text)?.[0];
  if (date !== undefined) return replaceIn(text, date, dates(date));
  const digits = DIGITS.exec(text)?.[0];
  return digits === undefined ? [] : replaceIn(text, digits, numbers(digits, toleranceSec));
}

function replaceIn(text: string, part: string, changes: readonly string[]): readonly TextChange[] {
  return changes.map((changed) => [`time ${JSON.stringify(changed)}`, text.replace(part, () => changed)]);
}

function numbers(digits: string, toleranceSec: number): readonly string[] {
  const unit = digits.length > 10 ? 1_000 : 1;
  const tolerance = toleranceSec * unit;
  const moved = [1, -1, tolerance, -tolerance, tolerance + unit, -tolerance - unit];
  return [
    ...moved.map((by) => String(Number(digits) + by)),
    `${digits}abc`,
    `${digits}.0`,
    `${digits}e0`,
    `0${digits}`,
    `+${digits}`,
    `-${digits}`,
    ` ${digits}`,
    `${digits} `,
    `0x${Number(digits).toString(16)}`,
    `${digits},${digits}`,
    `${digits} ${digits}`,
    "1e3",
    "NaN",
    "Infinity",
    "",
    " ",
    "0",
    digits.replace(/\d/, "１"),
    unit === 1 ? `${digits}000` : digits.slice(0, 10),
    new Date((Number(digits) / unit) * 1_000).toISOString(),
  ];
}

function dates(date: string): readonly string[] {
  const at = Date.parse(date);
  const utc = new Date(at).toISOString();
  return [
    utc,
    utc.replace("Z", "+00:00"),
    utc.replace("Z", "-00:00"),
    utc.replace("Z", "z"),
    utc.replace("Z", ""),
    utc.replace("T", " "),
    utc.replace("T", "t"),
    utc.replace(/\.\d+/, ""),
    `${date} `,
    ` ${date}`,
    `${date},${date}`,
    new Date(at + 1_000).toISOString(),
    date.replace(/T\d\d/, "T24"),
    date.replace(/-\d\dT/, "-31T"),
    date.replace(/:\d\d(?=[Z.+-])/, ":60"),
    String(Math.floor(at / 1_000)),
    new Date(at).toUTCString(),
    "",
  ];
}
