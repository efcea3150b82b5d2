import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkTimestamp, formatTimestamp, parseTimestamp } from "./timestamp.ts";

const NOW = 1_760_000_000_000;

describe("parseTimestamp", () => {
  it.each([
    ["2024-06-10T06:13:20Z", 1_718_000_000_000],
    ["2024-06-10T06:13:20.5Z", 1_718_000_000_500],
    ["2024-06-10T06:13:20.123456789Z", 1_718_000_000_123],
    ["2024-06-09T23:13:20-07:00", 1_718_000_000_000],
    ["2024-02-29T00:00:00Z", 1_709_164_800_000],
  ])("reads %s as RFC 3339", (text, expected) => {
    expect(parseTimestamp(text, "rfc3339")).toBe(expected);
  });

  it.each([
    "2024-06-10 06:13:20Z",
    "2024-06-10T06:13:20",
    "2024-06-10t06:13:20z",
    "2024-06-10T06:13:20z",
    "2024-06-10T06:13Z",
    "2024-06-10T24:00:00Z",
    "2024-06-10T06:60:00Z",
    "2024-06-10T06:13:60Z",
    "2024-02-30T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2024-13-01T00:00:00Z",
    "2024-00-10T00:00:00Z",
    "2024-06-00T00:00:00Z",
    "2024-06-10T06:13:20.Z",
    "2024-06-10T06:13:20.1234567890Z",
    "2024-06-10T06:13:20+24:00",
    "2024-06-10T06:13:20+0700",
    "2024-06-10T06:13:20Z ",
    "+002024-06-10T06:13:20Z",
    "1718000000",
    "",
  ])("takes %j for no RFC 3339", (text) => {
    expect(parseTimestamp(text, "rfc3339")).toBeUndefined();
  });

  it("reads back what was written, in every unit", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4_000_000_000 }),
        fc.constantFrom("seconds" as const, "milliseconds" as const, "rfc3339" as const),
        (seconds, unit) => {
          expect(parseTimestamp(formatTimestamp(seconds * 1_000, unit), unit)).toBe(seconds * 1_000);
        },
      ),
    );
  });

  it("takes digits only", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), (text) => {
        expect(parseTimestamp(text, "seconds") !== undefined).toBe(/^[0-9]{1,15}$/.test(text));
      }),
    );
  });
});

describe("checkTimestamp", () => {
  it.each([
    ["the past edge", -300_000, 300_000, undefined],
    ["past the past edge", -300_001, 300_000, "TimestampExpired"],
    ["the future edge", 300_000, 300_000, undefined],
    ["past the future edge", 300_001, 300_000, "TimestampInFuture"],
    ["any past without a tolerance", -NOW, 0, undefined],
    ["any future without a tolerance", NOW, 0, undefined],
  ])("at %s", (_name, offset, tolerance, reason) => {
    expect(checkTimestamp(NOW + offset, NOW, tolerance, "milliseconds")?.reason).toBe(reason);
  });
});
