import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_HINT_MS, parseRetryAfter } from "./retry-after.ts";

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);

describe("parseRetryAfter", () => {
  it.each([
    ["120", 120_000],
    ["0", 0],
    ["1", 1_000],
    [" 7\t", 7_000],
    ["0007", 7_000],
    ["604800", 604_800_000],
    ["604801", 604_800_000],
    ["1000000000", 604_800_000],
    ["9".repeat(400), 604_800_000],
    ["Thu, 15 Jan 2026 12:01:30 GMT", 90_000],
    ["Sun, 01 Feb 2026 00:00:00 GMT", 604_800_000],
    ["Thu, 15 Jan 2026 12:00:60 GMT", 60_000],
  ])("reads %j as %d ms", (value, expected) => {
    expect(parseRetryAfter(value, NOW)).toBe(expected);
  });

  it.each([
    "",
    "  ",
    "-1",
    "+5",
    "1.5",
    "120junk",
    "junk",
    "1 20",
    "120, 60",
    "0x10",
    "1e3",
    "Infinity",
    "Thu, 15 Jan 2026 11:59:59 GMT",
    "Thu, 15 Jan 2026 12:00:00 GMT",
    "Thu, 15 Jan 2026 12:01:30 UTC",
    "Thu, 15 Jan 2026 12:01:30",
    "Thu, 5 Feb 2026 12:01:30 GMT",
    "Mon, 30 Feb 2026 12:01:30 GMT",
    "Thu, 15 Jan 2026 24:00:00 GMT",
    "Thu, 15 jan 2026 12:01:30 GMT",
    "Thursday, 15-Jan-26 12:01:30 GMT",
    "Thu Jan 15 12:01:30 2026",
    "2026-01-15T12:01:30Z",
  ])("ignores %j", (value) => {
    expect(parseRetryAfter(value, NOW)).toBeUndefined();
  });

  it("ignores an absent field", () => {
    expect(parseRetryAfter(undefined, NOW)).toBeUndefined();
  });

  it("reads every date that Date writes in this form, to the second", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_HINT_MS / 1_000 }), (seconds) => {
        expect(parseRetryAfter(new Date(NOW + seconds * 1_000).toUTCString(), NOW)).toBe(seconds * 1_000);
      }),
    );
  });

  it("never answers anything outside 0 … 7 days, whatever the text", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.nat().map(String),
          fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
        ),
        (text) => {
          const hint = parseRetryAfter(text, NOW) ?? 0;
          expect(hint).toBeGreaterThanOrEqual(0);
          expect(hint).toBeLessThanOrEqual(MAX_HINT_MS);
        },
      ),
    );
  });
});
