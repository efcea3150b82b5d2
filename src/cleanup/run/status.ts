import { runConditions, type RunState } from "../../api/cleanup-run-conditions.ts";
import type { CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import type { RunRecord } from "../records/port.ts";
import { RunFailure } from "./failure.ts";
import { DRY_RUN_START, ENFORCE_START, type Stage } from "./passes.ts";
import type { Position } from "./scope-work.ts";
import { EMPTY_TALLY, type TallyState } from "./tally.ts";

/** Bytes of a status as JSON: an object of etcd has room for 1.5 MiB, and there are thousands of runs. */
export const MAX_STATUS_BYTES = 32_768;
const MAX_MESSAGE = 512;
const MAX_ERROR_MESSAGE = 256;

/** RFC 3339 with milliseconds. @param ms Unix ms */
export const timestamp = (ms: number): string => new Date(ms).toISOString();

/** Where a run goes on by its status: at its checkpoint, else at the beginning of what its mode does. */
export function stageOf({ checkpoint, counters, reasons, samples, planDigest, snapshot }: CleanupRunStatus): Stage {
  const start = snapshot?.mode === "Enforce" ? ENFORCE_START : DRY_RUN_START;
  if (checkpoint === undefined) return start;
  const { pass, round = 1, lastKey } = checkpoint;
  return {
    position: { pass, round, ...(lastKey !== undefined && { lastKey: Buffer.from(lastKey, "base64").toString() }) },
    tally: {
      counters: { ...EMPTY_TALLY.counters, ...counters },
      reasons: reasons ?? {},
      samples: samples ?? [],
      planDigest: planDigest ?? "",
    },
  };
}

/** A status that says how far a run is. */
export function withProgress(status: CleanupRunStatus, position: Position, tally: TallyState): CleanupRunStatus {
  const { pass, round, lastKey } = position;
  const { planDigest: _digest, ...rest } = status;
  return {
    ...rest,
    checkpoint: { pass, round, ...(lastKey !== undefined && { lastKey: Buffer.from(lastKey).toString("base64") }) },
    counters: tally.counters,
    reasons: tally.reasons,
    samples: [...tally.samples],
    ...(tally.planDigest !== "" && { planDigest: tally.planDigest }),
  };
}

/** A status in a phase, with the conditions of it. @param now Unix ms */
export function inState(run: RunRecord, status: CleanupRunStatus, state: RunState, now: number): CleanupRunStatus {
  const { phase, reason } = state;
  const message = cut(state.message, MAX_MESSAGE);
  const { generation } = run;
  return {
    ...status,
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: runConditions({ phase, reason, message }, { now, previous: status.conditions, generation }),
    phase,
    reason,
    message,
  };
}

/** A status of a run that has ended: nobody holds it and nothing is due. @param now Unix ms */
export function ended(run: RunRecord, status: CleanupRunStatus, state: RunState, now: number): CleanupRunStatus {
  return { ...inState(run, released(status), state, now), finishedAt: timestamp(now) };
}

/** Without a lease and a next attempt. */
export function released(status: CleanupRunStatus): CleanupRunStatus {
  const { lease: _lease, nextAttemptAt: _next, ...rest } = status;
  return rest;
}

/** A status that says what went wrong last. @param now Unix ms */
export function withError(status: CleanupRunStatus, { code, message }: RunFailure, now: number): CleanupRunStatus {
  return { ...status, lastError: { reason: code, message: cut(message, MAX_ERROR_MESSAGE), at: timestamp(now) } };
}

/** What may be left out of a status that is too large, one after the other. */
const LESS: readonly ((status: CleanupRunStatus) => CleanupRunStatus)[] = [
  (status) => status,
  ({ samples: _samples, ...rest }) => rest,
  (status) => ({ ...status, conditions: (status.conditions ?? []).map((one) => ({ ...one, message: "" })) }),
];

/**
 * The status as it may be written.
 * @throws {@link RunFailure} `StatusTooLarge` when nothing that may be left out is enough
 */
export function boundedStatus(status: CleanupRunStatus): CleanupRunStatus {
  let smaller = status;
  for (const less of LESS) {
    smaller = less(smaller);
    if (Buffer.byteLength(JSON.stringify(smaller)) <= MAX_STATUS_BYTES) return smaller;
  }
  throw new RunFailure(
    "StatusTooLarge",
    `the status of the run has more than ${MAX_STATUS_BYTES} bytes: shorten exclusions of its policy`,
  );
}

/** Cut by characters, never in half of a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
