import { expect, test } from "vitest";
import { sleep, systemTimers } from "./timers.ts";
import { ManualTimers } from "./testing.ts";

test("sleep ends after its time, and earlier when its signal fires; nothing is left behind", async () => {
  const timers = new ManualTimers();
  const ended: string[] = [];
  const stop = new AbortController();
  void sleep(timers, 100).then(() => ended.push("slept"));
  void sleep(timers, 500, stop.signal).then(() => ended.push("woken"));
  await timers.advance(99);
  expect(ended).toEqual([]);
  await timers.advance(1);
  expect(ended).toEqual(["slept"]);
  stop.abort();
  await timers.advance(0);
  expect(ended).toEqual(["slept", "woken"]);
  expect(timers.pending).toBe(0);
});

test("sleep with a signal that has fired does not wait", async () => {
  const timers = new ManualTimers();
  await sleep(timers, 1_000, AbortSignal.abort());
  expect(timers.pending).toBe(0);
});

test("the machine's timers call back once, unless they are cancelled", async () => {
  const called: string[] = [];
  systemTimers.after(0, () => called.push("one"));
  systemTimers.after(0, () => called.push("two"))();
  await sleep(systemTimers, 5);
  expect(called).toEqual(["one"]);
});
