import { Cron } from "croner";

/** Times of a schedule, all Unix ms. */
export interface Schedule {
  /** The first one after a time; `undefined`: there is none. */
  next(after: number): number | undefined;
  /** The last one that is not after a time. */
  latest(at: number): number | undefined;
  /** How many there are after `from`, up to and with `to`; at most {@link MAX_COUNT}. */
  count(from: number, to: number): number;
}

/** Most times that are counted. */
export const MAX_COUNT = 10_000;
/** A schedule whose first time is further off than this has a mistake, ms. */
const SIGHT_MS = 5 * 366 * 86_400_000;

export type ScheduleResult =
  | { readonly ok: true; readonly schedule: Schedule }
  /** `at`: which of the two is wrong. */
  | { readonly ok: false; readonly at: "schedule" | "timeZone"; readonly message: string; readonly remedy: string };

const MACROS: ReadonlySet<string> = new Set(["@hourly", "@daily", "@weekly", "@monthly"]);
/** Five fields of numbers, names, lists, ranges and steps: no seconds and none of the letters that only some implementations know. */
const FIELDS = /^[\d*,/-]+( [\d*,/-]+){2}( [\dA-Za-z*,/-]+){2}$/;
const MONTHS_AND_DAYS = /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)$/i;

/**
 * Reads a cron schedule in an IANA zone. An hour that a change of the clocks leaves out fires at its end, one that comes twice fires once where the schedule names
 * the hour; a schedule of every so many minutes fires at each instant once.
 *
 * @param now Unix ms, from which a first time must be in sight
 */
export function parseSchedule(text: string, timeZone: string, now: number): ScheduleResult {
  if (!isZone(timeZone)) {
    return refuse("timeZone", "is no IANA time zone", "write one such as Europe/Berlin, or leave it out for UTC");
  }
  const remedy =
    "write five fields, minute hour day month weekday, such as 30 2 * * *, or @hourly, @daily, @weekly, @monthly";
  if (!isCron(text)) return refuse("schedule", "is no cron schedule of five fields", remedy);
  const cron = cronOf(text, timeZone);
  if (cron === undefined) return refuse("schedule", "is no cron schedule", remedy);
  const schedule = scheduleOf(cron);
  const first = schedule.next(now);
  if (first !== undefined && first - now <= SIGHT_MS) return { ok: true, schedule };
  return refuse("schedule", "has no time within five years", "check its day and month");
}

function scheduleOf(cron: Cron): Schedule {
  return {
    next: (after) => cron.nextRun(new Date(after))?.getTime(),
    // croner leaves the moment itself out, to the second.
    latest: (at) => cron.previousRuns(1, new Date((Math.floor(at / 1_000) + 1) * 1_000))[0]?.getTime(),
    count: (from, to) => {
      let counted = 0;
      let at = cron.nextRun(new Date(from));
      while (at !== null && at.getTime() <= to && counted < MAX_COUNT) {
        counted += 1;
        at = cron.nextRun(at);
      }
      return counted;
    },
  };
}

function isCron(text: string): boolean {
  if (MACROS.has(text)) return true;
  if (!FIELDS.test(text)) return false;
  return [...text.matchAll(/[A-Za-z]+/g)].every(([word]) => MONTHS_AND_DAYS.test(word));
}

function cronOf(text: string, timezone: string): Cron | undefined {
  try {
    return new Cron(text, { timezone, paused: true });
  } catch {
    return undefined;
  }
}

/** Names with a region, and UTC: what a machine calls its own zone, or an abbreviation, is another one elsewhere. */
function isZone(timeZone: string): boolean {
  if (timeZone === "UTC") return true;
  if (!/^[A-Za-z]+(\/[A-Za-z0-9_+-]+)+$/.test(timeZone)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function refuse(at: "schedule" | "timeZone", message: string, remedy: string): ScheduleResult {
  return { ok: false, at, message, remedy };
}
