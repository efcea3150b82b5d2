import { expect, test } from "vitest";
import { ManualTimers } from "../../lib/testing.ts";
import { StoreError } from "../store/port.ts";
import { StoreLimiter } from "./limiter.ts";

const never = new AbortController().signal;
/** What a promise is rejected with, as a value: whoever waits for it does other things first. */
const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
const error = (code: "SlowDown" | "Timeout" | "AccessDenied") =>
  new StoreError(code, "no", { retryable: code !== "AccessDenied" });

test("no more calls of which there are many are under way than there are places, and one at a time passes them", async () => {
  const timers = new ManualTimers();
  const limiter = new StoreLimiter({ timers, most: 3 });
  const release: (() => void)[] = [];
  const call = () => new Promise<void>((resolve) => release.push(resolve));
  const all = Array.from({ length: 5 }, () => limiter.runMany(never, call));
  await timers.advance(0);
  await limiter.run(never, () => Promise.resolve());
  expect(release).toHaveLength(3);
  for (const done of release.splice(0)) done();
  await timers.advance(0);
  expect(release).toHaveLength(2);
  for (const done of release) done();
  await Promise.all(all);
});

test("SlowDown halves the calls side by side once for those sent together, makes all pause, and each success brings some back", async () => {
  const timers = new ManualTimers();
  const limiter = new StoreLimiter({ timers, most: 16, random: () => 1 });
  let isSlow = true;
  const begun: number[] = [];
  const call = async () => {
    begun.push(timers.monotonic());
    await Promise.resolve();
    if (isSlow) throw error("SlowDown");
  };
  const all = Promise.all(Array.from({ length: 16 }, () => limiter.runMany(never, call)));
  await timers.advance(0);
  expect(begun).toHaveLength(16);
  expect(limiter.window).toBe(8);
  isSlow = false;
  await timers.advance(199);
  expect(begun).toHaveLength(16);
  await timers.advance(1);
  await all;
  expect(begun).toHaveLength(32);
  for (let at = 0; at < 200; at += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await limiter.run(never, call);
  }
  expect(limiter.window).toBe(16);
});

test("a store for which one at a time is too much is called with growing gaps, and gives up after eight tries", async () => {
  const timers = new ManualTimers();
  const codes: string[] = [];
  const limiter = new StoreLimiter({ timers, most: 1, random: () => 1, onError: (code) => codes.push(code) });
  const begun: number[] = [];
  const result = limiter.run(never, () => {
    begun.push(timers.monotonic());
    return Promise.reject(error("SlowDown"));
  });
  const outcome = rejection(result);
  await timers.advance(120_000);
  expect(await outcome).toMatchObject({ code: "SlowDown" });
  const gaps = begun.slice(1).map((at, index) => at - (begun[index] ?? 0));
  expect(gaps).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000]);
  expect(codes).toHaveLength(8);
  const next: number[] = [];
  const calls = Array.from({ length: 3 }, () =>
    limiter.run(never, () => Promise.resolve(next.push(timers.monotonic()))),
  );
  await timers.advance(60_000);
  await Promise.all(calls);
  expect((next[1] ?? 0) - (next[0] ?? 0)).toBeGreaterThan(1_000);
});

test("other failures that may pass are tried three times, those that will not once", async () => {
  const timers = new ManualTimers();
  const limiter = new StoreLimiter({ timers, most: 16 });
  let tries = 0;
  const failing = (code: "Timeout" | "AccessDenied") => () => {
    tries += 1;
    return Promise.reject(error(code));
  };
  const timeout = rejection(limiter.run(never, failing("Timeout")));
  await timers.advance(1_000);
  expect(await timeout).toMatchObject({ code: "Timeout" });
  expect(tries).toBe(3);
  await expect(limiter.run(never, failing("AccessDenied"))).rejects.toMatchObject({ code: "AccessDenied" });
  expect(tries).toBe(4);
  expect(limiter.window).toBe(16);
});

test("who waits for a place or a pause gives up with the signal, and takes no place", async () => {
  const timers = new ManualTimers();
  const limiter = new StoreLimiter({ timers, most: 1, random: () => 1 });
  const given = new AbortController();
  let release: () => void = () => undefined;
  const first = limiter.runMany(never, () => new Promise<void>((resolve) => (release = resolve)));
  await timers.advance(0);
  const waiting = rejection(limiter.runMany(given.signal, () => Promise.resolve()));
  await timers.advance(0);
  const last = limiter.runMany(never, () => Promise.resolve("in"));
  await timers.advance(0);
  limiter.slowDown();
  const paused = rejection(limiter.run(given.signal, () => Promise.resolve()));
  given.abort(new Error("given up"));
  expect(await waiting).toMatchObject({ message: "given up" });
  expect(await paused).toMatchObject({ message: "given up" });
  release();
  await first;
  await timers.advance(1_000);
  expect(await last).toBe("in");
});
