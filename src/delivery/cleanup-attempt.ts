import { readCleanupRequest } from "../api/cleanup-request.ts";
import type { RunStart, RunStarted } from "../api/run-start.ts";
import type { TakenCopy } from "../custody/port.ts";
import { errorCode } from "../egress/error-code.ts";
import { KubeApiError, KubeConfigError, KubeConnectionError } from "../kube/errors.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { parseJson } from "../lib/json-source.ts";
import type { Logger } from "../observability/logger.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Attempt, AttemptResult } from "./attempt.ts";
import type { RunStarter } from "./run-starter.ts";

export interface CleanupAttemptOptions {
  readonly start: RunStarter;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** What becomes of the attempt, by what came of the run. */
const RESULTS: Readonly<Record<RunStarted, (durationMs: number) => AttemptResult>> = {
  created: (durationMs) => ({ type: "runStarted", isNew: true, durationMs }),
  exists: (durationMs) => ({ type: "runStarted", isNew: false, durationMs }),
  noPolicy: (durationMs) => ({ type: "error", code: "policy_not_found", durationMs }),
  conflict: (durationMs) => ({
    type: "runRefused",
    reason: "RunConflict",
    detail: "there is a run with this run_id for another scope, cutoff or mode: send a run_id of its own",
    durationMs,
  }),
};

/**
 * An attempt that makes the run of a CleanupPolicy an event asks for. A run that is there already and asks for the same is success, so it may be repeated at will.
 */
export function createCleanupAttempt(options: CleanupAttemptOptions): Attempt {
  const { start, metrics, clock = systemClock } = options;
  return async (copy, { entry, namespace }, { beforeWrite }) => {
    const { target, timeoutMs } = entry;
    if (target.type !== "cleanup") return { type: "error", code: "no_handler", durationMs: 0 };
    const run = runOf(copy, { namespace, policy: target.policy });
    if ("type" in run) return run;
    if (!beforeWrite()) return { type: "notSent" };
    const startedAt = clock.monotonic();
    const duration = () => Math.round(clock.monotonic() - startedAt);
    const labels = { namespace, policy: target.policy };
    let started: RunStarted;
    try {
      started = await start(run, AbortSignal.timeout(timeoutMs));
    } catch (error) {
      const code = startErrorCode(error);
      // A missing right is remedied by what the message says, which holds nothing of the event.
      const why = error instanceof Error ? error.message : "";
      options.logger.warn({ ...labels, event: copy.eventId, code }, `a cleanup run could not be made: ${why}`);
      return { type: "error", code, durationMs: duration() };
    }
    if (started === "conflict") metrics.cleanupRunConflicts.inc(labels);
    // By the store's clock, as the receipt is.
    const now = copy.now + duration();
    if (started === "created") metrics.cleanupQueueToRun.observe(labels, Math.max(0, now - copy.receivedAt) / 1_000);
    return RESULTS[started](duration());
  };
}

/** Gateways let no other body in; it may be older than the destination. */
function runOf(copy: TakenCopy, policy: Pick<RunStart, "namespace" | "policy">): RunStart | AttemptResult {
  const parsed = parseJson(copy.body);
  const result = readCleanupRequest(parsed.ok ? parsed.value : undefined);
  if (result.ok) return { ...policy, ...result.request, eventId: copy.eventId, receivedAt: copy.receivedAt };
  const detail = `${result.field} ${result.message}`;
  return { type: "runRefused", reason: "InvalidRunRequest", detail, durationMs: 0 };
}

/**
 * A short code for the log of a copy: `api_forbidden` (a right is missing), `api_not_found` (no CleanupRuns here, or the namespace is gone), `api_invalid` (an admission
 * policy), `api_unavailable`, `api_unreachable`, `timeout` …, else {@link errorCode}'s.
 */
export function startErrorCode(error: unknown): string {
  if (error instanceof KubeApiError || error instanceof KubeConnectionError || error instanceof KubeConfigError) {
    return `api_${error.code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()}`;
  }
  return error instanceof DOMException && error.name === "TimeoutError" ? "timeout" : errorCode(error);
}
