import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { sleep } from "../../lib/timers.ts";
import { SILENT_AFTER_MS, SilenceWatch } from "./silence.ts";

/** A watch, and the times at which it noticed silence. */
function watched() {
  const timers = new ManualTimers();
  const noticed: number[] = [];
  const watch = new SilenceWatch(timers, () => noticed.push(timers.monotonic()));
  return { timers, noticed, call: (ms: number) => watch.over(() => sleep(timers, ms)) };
}

test("a call without an answer is silence, told once", async () => {
  const { timers, noticed, call } = watched();
  void call(60_000);
  await timers.advance(SILENT_AFTER_MS - 1);
  expect(noticed).toEqual([]);
  await timers.advance(60_000);
  expect(noticed).toEqual([SILENT_AFTER_MS]);
});

test("any answer breaks it, and silence begins anew with it", async () => {
  const { timers, noticed, call } = watched();
  void call(60_000);
  await timers.advance(3_000);
  const answered = call(0);
  await timers.advance(0);
  await answered;
  await timers.advance(SILENT_AFTER_MS - 1);
  expect(noticed).toEqual([]);
  await timers.advance(1);
  expect(noticed).toEqual([3_000 + SILENT_AFTER_MS]);
});

test("time without a call is not silence, however long", async () => {
  const { timers, noticed, call } = watched();
  const first = call(1_000);
  await timers.advance(60_000);
  await first;
  void call(1_000);
  await timers.advance(60_000);
  expect(noticed).toEqual([]);
});

test("the error of a call comes through", async () => {
  const watch = new SilenceWatch(new ManualTimers(), () => undefined);
  await expect(watch.over(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
});
