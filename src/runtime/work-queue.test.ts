import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { ManualTimers } from "../lib/testing.ts";
import { createKubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import { KeyBackoff } from "./backoff.ts";
import { WorkQueue } from "./work-queue.ts";

function queue() {
  const timers = new ManualTimers();
  const registry = new Registry();
  const metrics = createKubernetesMetrics(registry);
  const backoff = new KeyBackoff(100, 1_000, () => 1 - Number.EPSILON);
  return { timers, registry, queue: new WorkQueue({ name: "q", metrics, timers, backoff }) };
}
const isPending = async (promise: Promise<unknown>) =>
  (await Promise.race([promise, Promise.resolve("pending")])) === "pending";

test("a key waits once however often it is added", async () => {
  const { queue: q } = queue();
  for (let i = 0; i < 3; i++) q.add("a");
  q.add("b");
  expect(q.depth).toBe(2);
  expect([await q.get(), await q.get()]).toEqual(["a", "b"]);
});

test("a key is handed to one worker at a time, and again if it was added meanwhile", async () => {
  const { queue: q } = queue();
  q.add("a");
  await q.get();
  q.add("a");
  q.add("a");
  const next = q.get();
  expect(await isPending(next)).toBe(true);
  q.done("a");
  expect(await next).toBe("a");
  q.done("a");
  expect([q.depth, q.active]).toEqual([0, 0]);
});

test("a worker that waits gets the key as it is added", async () => {
  const { queue: q } = queue();
  const waiting = q.get();
  q.add("a");
  expect(await waiting).toBe("a");
  expect([q.depth, q.active]).toEqual([0, 1]);
});

test("of several delays of a key the earliest holds, and no other timer is left", async () => {
  const { queue: q, timers } = queue();
  q.addAfter("a", 5_000);
  q.addAfter("a", 20);
  q.addAfter("a", 9_000);
  expect(timers.pending).toBe(1);
  await timers.advance(19);
  expect(q.depth).toBe(0);
  await timers.advance(1);
  expect(q.depth).toBe(1);
  await timers.advance(10_000);
  expect(q.depth).toBe(1);
});

test("a key that fails waits twice as long each time, at most the cap, until it is forgotten", async () => {
  const { queue: q, timers } = queue();
  const delays: number[] = [];
  for (let i = 0; i < 6; i++) {
    q.addRateLimited("a");
    const from = timers.monotonic();
    while (q.depth === 0) await timers.advance(50);
    delays.push(timers.monotonic() - from);
    q.done((await q.get()) ?? "");
  }
  expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(q.failures("a")).toBe(6);
  q.forget("a");
  expect(q.failures("a")).toBe(0);
});

test("the server's wish to wait longer than the backoff is kept", async () => {
  const { queue: q, timers } = queue();
  q.addRateLimited("a", 7_000);
  await timers.advance(6_999);
  expect(q.depth).toBe(0);
  await timers.advance(1);
  expect(q.depth).toBe(1);
});

test("a closed queue ends every get and takes nothing more", async () => {
  const { queue: q, timers } = queue();
  const waiting = q.get();
  q.addAfter("later", 10);
  q.close();
  expect(await waiting).toBeUndefined();
  q.add("a");
  await timers.advance(100);
  expect(await q.get()).toBeUndefined();
  expect([q.depth, timers.pending]).toEqual([0, 0]);
});

test("keys come out in order, also after thousands", async () => {
  const { queue: q } = queue();
  const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}`);
  for (const key of keys) q.add(key);
  const taken: (string | undefined)[] = [];
  for (const _ of keys) taken.push(await q.get());
  expect(taken).toEqual(keys);
});

test("depth, adds, retries and times are counted, from 0 on", async () => {
  const { queue: q, timers, registry } = queue();
  expect(await registry.metrics()).toContain('workqueue_adds_total{name="q"} 0');
  expect(await registry.metrics()).toContain('workqueue_work_duration_seconds_count{name="q"} 0');
  q.add("a");
  await timers.advance(2_000);
  await q.get();
  await timers.advance(3_000);
  q.done("a");
  q.addRateLimited("a");
  const text = await registry.metrics();
  for (const line of [
    'workqueue_depth{name="q"} 0',
    'workqueue_adds_total{name="q"} 1',
    'workqueue_retries_total{name="q"} 1',
    'workqueue_queue_duration_seconds_sum{name="q"} 2',
    'workqueue_work_duration_seconds_sum{name="q"} 3',
  ]) {
    expect(text).toContain(line);
  }
});
