import { isFinished } from "../../../api/cleanup-run.ts";
import { parseInstant } from "../../../api/cleanup-request.ts";
import type { CleanupPolicySpec, CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import type { CleanupRunSpec, CleanupRunStatus } from "../../../api/generated/cleanup-run.ts";

/** A CleanupPolicy as the plan sees it: out of the API server's cache, or out of a file. */
export interface PolicyView {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  /** Unix ms. */
  readonly createdAt: number;
  readonly spec: CleanupPolicySpec;
  /** As it was written last. */
  readonly status: CleanupPolicyStatus | undefined;
}

/** A CleanupRun as the plan sees it. */
export interface RunView {
  readonly name: string;
  readonly uid: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** metadata.generation; absent where there is none. */
  readonly generation?: number | undefined;
  readonly spec: CleanupRunSpec;
  readonly status: CleanupRunStatus | undefined;
  /** Unix ms at which whoever plans first saw the lease as it is now: two clocks are never compared. Absent: no lease. */
  readonly leaseSeenAt?: number | undefined;
}

/** A Kubernetes Event that something is worth. */
export interface PlannedEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
}

/** A status that a run is to have. */
export interface StatusWrite {
  readonly run: RunView;
  readonly status: CleanupRunStatus;
  readonly event?: PlannedEvent | undefined;
}

/** A lease that was not renewed for this long is nobody's any more, ms. A cleaner lets go after 20 s without a renewal, and takes over after 30 s. */
export const LEASE_DEAD_MS = 60_000;

/** Unix ms of a time in a status or spec; `undefined` when it is absent or no instant. */
export function instant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseInstant(text);
}

/** RFC 3339 in UTC; with milliseconds only where there are any. @param ms Unix ms */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** When a run was asked for, Unix ms: never later than it was made, whatever it says of itself. */
export function receivedAt({ spec, createdAt }: Pick<RunView, "spec" | "createdAt">): number {
  return Math.min(instant(spec.receivedAt) ?? createdAt, createdAt);
}

/** When a run ended, Unix ms; one that does not say counts as ended when it was made. */
export function finishedAt({ status, createdAt }: Pick<RunView, "status" | "createdAt">): number {
  return instant(status?.finishedAt) ?? createdAt;
}

/** Whether a run has not ended. */
export function isOpen({ status }: Pick<RunView, "status">): boolean {
  return !isFinished(status);
}

/** Whether somebody may be working on a run now. */
export function isHeld({ status, leaseSeenAt }: RunView, now: number): boolean {
  return status?.lease !== undefined && now - (leaseSeenAt ?? now) < LEASE_DEAD_MS;
}

/** Oldest asked for first. */
export function byReceipt(a: RunView, b: RunView): number {
  return receivedAt(a) - receivedAt(b) || a.name.localeCompare(b.name);
}
