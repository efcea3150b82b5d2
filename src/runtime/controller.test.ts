import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { KubeApiError } from "../kube/errors.ts";
import { NotLeaderError } from "../kube/fence.ts";
import { ManualTimers } from "../lib/testing.ts";
import { createKubernetesMetrics } from "../observability/kubernetes-metrics.ts";
import { silentLogger } from "../observability/logger.ts";
import { KeyBackoff } from "./backoff.ts";
import { Controller, type ControllerOptions } from "./controller.ts";
import { TerminalError, type Reconcile } from "./reconcile.ts";
import { WorkQueue } from "./work-queue.ts";

function running(reconcile: Reconcile, options: Partial<ControllerOptions> = {}) {
  const timers = new ManualTimers();
  const metrics = createKubernetesMetrics(new Registry());
  const queue = new WorkQueue({ name: "c", metrics, timers, backoff: new KeyBackoff(100, 1_000, () => 0.5) });
  const controller = new Controller({ name: "c", queue, reconcile, metrics, logger: silentLogger, timers, ...options });
  const stop = new AbortController();
  const ended = controller.run(stop.signal);
  const outcomes = async () => {
    const { values } = await metrics.reconciles.get();
    return Object.fromEntries(
      values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.result, value]),
    );
  };
  return { timers, metrics, queue, stop, ended, outcomes };
}

const apiError = (status: number, retryAfterMs?: number) =>
  new KubeApiError({
    status,
    body: undefined,
    request: { verb: "update", resource: "secrets", namespace: "x", name: "y" },
    retryAfterMs,
  });

/** A promise to be settled by the test. */
function held() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}

test("several keys run at a time, one key never twice at a time", async () => {
  const seen: string[] = [];
  const gates = new Map<string, () => void>();
  const c = running(async (key) => {
    seen.push(key);
    const { promise, resolve } = held();
    gates.set(key, resolve);
    await promise;
  });
  for (const key of ["a", "b"]) c.queue.add(key);
  await c.timers.advance(0);
  c.queue.add("a");
  await c.timers.advance(0);
  expect(seen).toEqual(["a", "b"]);
  gates.get("a")?.();
  await c.timers.advance(0);
  expect(seen).toEqual(["a", "b", "a"]);
});

test("a success ends the backoff; a wish to look again is kept", async () => {
  const results = [{ requeueAfterMs: 1_000 }, {}];
  const seen: number[] = [];
  const c = running(async () => {
    seen.push(c.timers.monotonic());
    return results.shift();
  });
  c.queue.add("a");
  await c.timers.advance(10_000);
  expect(seen).toEqual([0, 1_000]);
  expect(await c.outcomes()).toEqual({ requeue_after: 1, success: 1 });
});

test("a failure is tried again with growing pauses, until it succeeds", async () => {
  const seen: number[] = [];
  const c = running(async () => {
    seen.push(c.timers.monotonic());
    if (seen.length < 4) throw new Error("not yet");
  });
  c.queue.add("a");
  await c.timers.advance(10_000);
  expect(seen).toEqual([0, 75, 225, 525]);
  expect(await c.outcomes()).toEqual({ error: 3, success: 1 });
  expect(c.queue.failures("a")).toBe(0);
});

test("Retry-After of the server lengthens the pause", async () => {
  const seen: number[] = [];
  const c = running(async () => {
    seen.push(c.timers.monotonic());
    if (seen.length === 1) throw apiError(429, 5_000);
  });
  c.queue.add("a");
  await c.timers.advance(10_000);
  expect(seen).toEqual([0, 5_000]);
});

test.each([
  ["a conflict", () => apiError(409)],
  ["a term that ended", () => new NotLeaderError("gone")],
])("%s is tried again without counting as an error", async (_what, error) => {
  let failures = 1;
  const c = running(async () => {
    if (failures-- > 0) throw error();
  });
  c.queue.add("a");
  await c.timers.advance(10_000);
  expect(await c.outcomes()).toEqual({ requeue_after: 1, success: 1 });
});

test("a terminal error is not tried again, until the key is added", async () => {
  let calls = 0;
  const c = running(async () => {
    calls += 1;
    throw new TerminalError("never");
  });
  c.queue.add("a");
  await c.timers.advance(100_000);
  expect([calls, await c.outcomes()]).toEqual([1, { terminal_error: 1 }]);
  c.queue.add("a");
  await c.timers.advance(0);
  expect(calls).toBe(2);
});

test("a reconcile that takes too long is told so, and counts as an error", async () => {
  const reasons: unknown[] = [];
  const c = running(
    (_key, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(signal.reason as Error);
        });
      }),
    { timeoutMs: 500 },
  );
  c.queue.add("a");
  await c.timers.advance(500);
  expect(reasons).toMatchObject([{ code: "ReconcileTimeout" }]);
  expect(c.timers.pending).toBe(1); // the key's backoff, and nothing else
  expect(await c.outcomes()).toEqual({ error: 1 });
});

test("one that ignores its signal costs its worker only for a while, and its key is not run twice", async () => {
  const seen: string[] = [];
  const { promise, resolve } = held();
  const c = running(
    async (key) => {
      seen.push(key);
      if (key === "stuck") await promise;
    },
    { timeoutMs: 500, concurrency: 1 },
  );
  c.queue.add("stuck");
  await c.timers.advance(0);
  c.queue.add("stuck");
  c.queue.add("b");
  await c.timers.advance(5_499);
  expect(seen).toEqual(["stuck"]);
  await c.timers.advance(1);
  expect(seen).toEqual(["stuck", "b"]);
  resolve();
  await c.timers.advance(0);
  expect(seen).toEqual(["stuck", "b", "stuck"]);
});

test("when it stops, what runs may finish, and nothing new begins", async () => {
  const { promise, resolve } = held();
  const seen: string[] = [];
  const c = running(
    async (key, signal) => {
      await promise;
      seen.push(`${key} ${signal.aborted}`);
    },
    { concurrency: 1 },
  );
  c.queue.add("a");
  c.queue.add("b");
  await c.timers.advance(0);
  c.stop.abort();
  resolve();
  await c.ended;
  expect(seen).toEqual(["a false"]);
});

test("what runs for too long after the stop is aborted", async () => {
  const c = running((_key, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())), {
    drainMs: 1_000,
  });
  c.queue.add("a");
  await c.timers.advance(0);
  c.stop.abort();
  const ended: string[] = [];
  void c.ended.then(() => ended.push("ended"));
  await c.timers.advance(999);
  expect(ended).toEqual([]);
  await c.timers.advance(1);
  expect(ended).toEqual(["ended"]);
});

test("every outcome is there from the start, as 0", async () => {
  const { values } = await running(async () => undefined).metrics.reconciles.get();
  expect(values.map(({ labels, value }) => [labels.result, value])).toEqual([
    ["success", 0],
    ["requeue_after", 0],
    ["error", 0],
    ["terminal_error", 0],
  ]);
});

test("fast reconciles leave no timers behind", async () => {
  const c = running(async () => undefined);
  for (let i = 0; i < 100; i++) c.queue.add(`k${i}`);
  await c.timers.advance(0);
  expect(await c.outcomes()).toEqual({ success: 100 });
  expect(c.timers.pending).toBe(0);
});
