import type { RunObject } from "../../api/cleanup-resources.ts";
import type { CleanupRunRef } from "../../api/cleanup-run.ts";

/** Finds CleanupRuns: in a cluster those of the API server. */
export interface RunView {
  /** Rejects when it cannot be told. */
  find(ref: CleanupRunRef): Promise<RunObject | "noRun" | "noPolicy">;
}

/** A run as its caller sees it. Times are RFC 3339. What is not known yet is absent. */
export interface RunAnswer {
  readonly runId: string;
  /** Name of the CleanupRun; absent before there is one. */
  readonly name?: string;
  readonly scope?: string;
  readonly cutoff?: string;
  readonly mode?: string;
  readonly phase: string;
  readonly reason?: string;
  readonly message?: string;
  readonly counters?: Readonly<Record<string, number>>;
  readonly planDigest?: string;
  /** The event that asked for it. */
  readonly eventId?: string;
  readonly receivedAt?: string;
  readonly admittedAt?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

/** What is told of a run. Keys of objects, the lease and the checkpoint are not among it. */
export function runAnswer({ metadata, spec, status = {} }: RunObject): RunAnswer {
  const mode = status.snapshot?.mode ?? spec.requestedMode;
  return defined({
    runId: spec.runId,
    name: metadata.name,
    scope: spec.scope,
    cutoff: spec.cutoff,
    mode,
    phase: status.phase ?? "Pending",
    reason: status.reason,
    message: status.message,
    counters: status.counters as Readonly<Record<string, number>> | undefined,
    planDigest: status.planDigest,
    eventId: spec.eventId,
    receivedAt: spec.receivedAt ?? metadata.creationTimestamp,
    admittedAt: status.admittedAt,
    startedAt: status.startedAt,
    finishedAt: status.finishedAt,
  });
}

type Defined<T> = { readonly [Key in keyof T]: Exclude<T[Key], undefined> };

/** Without the fields that are undefined: as JSON has it. */
function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined && one !== "")) as Defined<T>;
}
