import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { ManualTimers } from "../lib/testing.ts";
import { createKubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import { resync } from "./resync.ts";
import { WorkQueue } from "./work-queue.ts";

test("every key that exists comes once a period, spread over it, until the end", async () => {
  const timers = new ManualTimers();
  const queue = new WorkQueue({ name: "q", metrics: createKubernetesMetrics(new Registry()), timers });
  const keys = new Set(["a", "b"]);
  const stop = new AbortController();
  const random = [0.1, 0.9, 0.5, 0.5];
  resync({ queue, keys: () => keys, periodMs: 1_000, timers, random: () => random.shift() ?? 0 }, stop.signal);
  const seen: string[] = [];
  const drain = async () => {
    while (queue.depth > 0) {
      const key = (await queue.get()) ?? "";
      seen.push(`${key}@${timers.monotonic()}`);
      queue.done(key);
    }
  };
  for (let i = 0; i < 25; i++) {
    await timers.advance(100);
    await drain();
    if (i === 12) keys.delete("b");
  }
  expect(seen).toEqual(["a@1100", "b@1900", "a@2500"]);
  stop.abort();
  expect(timers.pending).toBe(0);
});
