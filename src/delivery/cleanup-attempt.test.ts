import { describe, expect, it } from "vitest";
import type { RunStart, RunStarted } from "../api/run-start.ts";
import type { TakenCopy } from "../custody/port.ts";
import { KubeApiError, KubeConnectionError } from "../kube/errors.ts";
import { silentLogger } from "../observability/logger.ts";
import { createMetrics } from "../observability/metrics.ts";
import type { DestinationEntry } from "../routes/entry.ts";
import { attemptByTarget } from "./attempt-by-target.ts";
import { createCleanupAttempt } from "./cleanup-attempt.ts";
import type { WorkerDestination } from "./destinations.ts";
import type { RunStarter } from "./run-starter.ts";

const BODY = { run_id: "r-1", warehouse_id: "wh-17", expired_before: "2026-01-31T00:00:00Z" };
const CLEANUP = { type: "cleanup", policy: "expired" } as const;

const copyOf = (body: unknown) =>
  ({ eventId: "01E", receivedAt: 1_000, now: 31_000, body: Buffer.from(JSON.stringify(body)) }) as TakenCopy;
const destinationOf = (target: DestinationEntry["target"], timeoutMs = 1_000) =>
  ({ namespace: "shop", entry: { target, timeoutMs } }) as WorkerDestination;

function harness(start: RunStarter) {
  const metrics = createMetrics();
  const attempt = createCleanupAttempt({ start, metrics, logger: silentLogger });
  return {
    text: () => metrics.registry.metrics(),
    run: (body: unknown, { mayBegin = true, timeoutMs = 1_000 } = {}) =>
      attempt(copyOf(body), destinationOf(CLEANUP, timeoutMs), {
        signal: new AbortController().signal,
        beforeWrite: () => mayBegin,
      }),
  };
}

/** A starter that says this, and notes what it was asked for. */
function saying(started: RunStarted) {
  const asked: RunStart[] = [];
  const start: RunStarter = async (run) => {
    asked.push(run);
    return started;
  };
  return { start, asked };
}

describe("an attempt at a cleanup destination", () => {
  it("asks for the run that the event names, and is done once there is one", async () => {
    const { start, asked } = saying("created");
    const { run, text } = harness(start);
    expect(await run(BODY)).toMatchObject({ type: "runStarted", isNew: true });
    expect(asked).toEqual([
      {
        namespace: "shop",
        policy: "expired",
        runId: "r-1",
        scope: "wh-17",
        cutoff: Date.UTC(2026, 0, 31),
        eventId: "01E",
        receivedAt: 1_000,
      },
    ]);
    expect(await text()).toMatch(/cleanup_queue_to_run_seconds_sum\{namespace="shop",policy="expired"\} 30(\.|\n)/);
  });

  it("is done as well where the same run is there already, whose time counts once", async () => {
    const { run, text } = harness(saying("exists").start);
    expect(await run(BODY)).toMatchObject({ type: "runStarted", isNew: false });
    expect(await text()).not.toContain("cleanup_queue_to_run_seconds_count{");
  });

  it("is refused for good where the id is another run's, and counts that", async () => {
    const { run, text } = harness(saying("conflict").start);
    expect(await run(BODY)).toMatchObject({ type: "runRefused", reason: "RunConflict" });
    expect(await text()).toContain('davit_cleanup_run_conflicts_total{namespace="shop",policy="expired"} 1');
  });

  it("is tried again while there is no such policy", async () => {
    expect(await harness(saying("noPolicy").start).run(BODY)).toMatchObject({
      type: "error",
      code: "policy_not_found",
    });
  });

  it("is refused for good, and asks for nothing, where the body names no run", async () => {
    const { start, asked } = saying("created");
    const { run } = harness(start);
    const results = await Promise.all([run({ ...BODY, expired_before: "soon" }), run("text")]);
    expect(results).toMatchObject([
      { type: "runRefused", reason: "InvalidRunRequest", detail: expect.stringMatching(/^expired_before /) },
      { type: "runRefused", reason: "InvalidRunRequest" },
    ]);
    expect(JSON.stringify(results)).not.toContain("soon");
    expect(asked).toEqual([]);
  });

  it("begins nothing that may not begin any more", async () => {
    const { start, asked } = saying("created");
    expect(await harness(start).run(BODY, { mayBegin: false })).toEqual({ type: "notSent" });
    expect(asked).toEqual([]);
  });

  it.each([
    [403, "Forbidden", "api_forbidden"],
    [404, "NotFound", "api_not_found"],
    [422, "Invalid", "api_invalid"],
    [429, "TooManyRequests", "api_too_many_requests"],
    [503, "ServiceUnavailable", "api_unavailable"],
  ])("is tried again when the API server answers %i", async (status, reason, code) => {
    const request = { verb: "create", resource: "cleanupruns" };
    const { run } = harness(async () => {
      throw new KubeApiError({ status, body: { reason }, request } as never);
    });
    expect(await run(BODY)).toMatchObject({ type: "error", code });
  });

  it("is tried again when the API server cannot be asked, or does not answer within the timeout", async () => {
    const unreachable = harness(async () => {
      throw new KubeConnectionError("Unreachable", "no");
    });
    expect(await unreachable.run(BODY)).toMatchObject({ type: "error", code: "api_unreachable" });
    const silent = harness(
      (_run, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    expect(await silent.run(BODY, { timeoutMs: 5 })).toMatchObject({ type: "error", code: "timeout" });
  });
});

describe("attempts by target", () => {
  const context = { signal: new AbortController().signal, beforeWrite: () => true };
  const attempt = attemptByTarget({ http: async () => ({ type: "handled", durationMs: 1 }) });

  it("go to the one for the destination's target", async () => {
    const target = { type: "http", url: "http://127.0.0.1:9/" } as const;
    expect(await attempt(copyOf(BODY), destinationOf(target), context)).toEqual({ type: "handled", durationMs: 1 });
  });

  it.each([CLEANUP, { type: "handler" } as const, { type: "toString" } as never])(
    "are tried again where there is none: %j",
    async (target) => {
      const result = await attempt(copyOf(BODY), destinationOf(target), context);
      expect(result).toEqual({ type: "error", code: "no_handler", durationMs: 0 });
    },
  );
});
