import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { isUnicode } from "../../lib/unicode.ts";
import { RunFailure } from "./failure.ts";
import { boundedStatus, ended, MAX_STATUS_BYTES, stageOf, withError, withProgress } from "./status.ts";
import { EMPTY_TALLY } from "./tally.ts";
import { OLD, snapshot, World } from "./testing.ts";

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const sample = { key: "\u0001".repeat(256), versionId: "v", reason: "LegalHold" };

test("a status is never larger than 32 KiB: samples go first, then what conditions say", () => {
  const large = { samples: Array.from({ length: 20 }, () => sample), message: "m" };
  expect(bytes(large)).toBeLessThan(MAX_STATUS_BYTES);
  expect(boundedStatus(large)).toEqual(large);
  const exclusions = { ...snapshot().exclusions, protectedPrefixes: Array.from({ length: 16 }, () => "x".repeat(512)) };
  const larger = { ...large, snapshot: snapshot({ exclusions }) };
  expect(bytes(larger)).toBeGreaterThan(MAX_STATUS_BYTES);
  const { samples: _, ...rest } = larger;
  expect(boundedStatus(larger)).toEqual(rest);
  const full = Array.from({ length: 16 }, () => "€".repeat(512));
  const tooLarge = { snapshot: snapshot({ exclusions: { ...exclusions, protectedPrefixes: [...full, ...full] } }) };
  expect(() => boundedStatus(tooLarge)).toThrow(expect.objectContaining({ code: "StatusTooLarge" }));
});

test("a run with the largest keys and odd characters writes statuses that fit", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  world.store.objectLock = true;
  for (let at = 0; at < 30; at += 1)
    world.store.put(`warehouses/wh-1/${"\u0001".repeat(990)}${at}`, { at: OLD, legalHold: true });
  for (let at = 0; at < 30; at += 1)
    world.store.put(`warehouses/wh-1/${"😀".repeat(250)}${at}`, { at: OLD, legalHold: true });
  let largest = 0;
  world.records.faults.before = (_run, status) => {
    largest = Math.max(largest, bytes(status));
    for (const { key } of status.samples ?? []) expect(isUnicode(key)).toBe(true);
  };
  const exclusions = {
    ...snapshot().exclusions,
    protectedPrefixes: Array.from({ length: 16 }, (_, at) => "p".repeat(500) + at),
  };
  world.addRun({ snapshot: { exclusions } });
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect(world.status().phase).toBe("Succeeded");
  expect(world.status().counters?.kept).toBe(60);
  expect(largest).toBeGreaterThan(8_000);
  expect(largest).toBeLessThanOrEqual(MAX_STATUS_BYTES);
  await runner.stop();
});

test("a few of the versions that stay are named", async () => {
  const timers = new ManualTimers();
  const world = new World(timers);
  for (let at = 0; at < 30; at += 1) world.store.put(`warehouses/wh-1/${at}`, { at: OLD, legalHold: true });
  world.addRun();
  const runner = world.runner();
  runner.start();
  await timers.advance(0);
  expect(world.status().samples).toHaveLength(20);
  expect(world.status().reasons).toEqual({ LegalHold: 30 });
  await runner.stop();
});

test("where a run goes on is what was written, for any key", () => {
  const position = { pass: "Delete", round: 2, lastKey: "warehouses/ü/\u0000\n😀" } as const;
  const tally = { ...EMPTY_TALLY, reasons: { LegalHold: 2 }, planDigest: "d", samples: [sample] };
  expect(stageOf(withProgress({ snapshot: snapshot() }, position, tally))).toEqual({ position, tally });
});

test("messages are cut, and not in the middle of a character", () => {
  const run = new World(new ManualTimers()).addRun();
  const long = "😀".repeat(600);
  const failed = ended(run, run.status, { phase: "Failed", reason: "Why", message: `x${long}` }, 0);
  expect(failed.message?.length).toBeLessThanOrEqual(512);
  expect(isUnicode(failed.message ?? "")).toBe(true);
  const { lastError } = withError({}, new RunFailure("Why", long), 0);
  expect(lastError?.message.length).toBeLessThanOrEqual(256);
  expect(isUnicode(lastError?.message ?? "")).toBe(true);
});
