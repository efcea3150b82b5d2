import { shortHash } from "../lib/hash.ts";
import type { CleanupRunSpec, CleanupRunStatus } from "./generated/cleanup-run.ts";

/** What a run may do: keep the record, look, or delete. Each may do all that those before it may. */
export const CLEANUP_MODES = ["RecordOnly", "DryRun", "Enforce"] as const;
export type CleanupMode = (typeof CLEANUP_MODES)[number];

/** Where a run is. */
export type CleanupPhase = NonNullable<CleanupRunStatus["phase"]>;

/** Phases that a run never leaves. */
const FINISHED: ReadonlySet<string> = new Set<CleanupPhase>([
  "Succeeded",
  "CompletedWithSkips",
  "Failed",
  "Rejected",
  "Cancelled",
]);

/** Whether a run has ended, for good. A run without a phase has not been looked at yet. */
export function isFinished(status: Pick<CleanupRunStatus, "phase"> | undefined): boolean {
  return FINISHED.has(status?.phase ?? "");
}

/** Most characters of the policy's name in the name of a run. */
const MAX_POLICY_PART = 40;

/**
 * Name of the run with an id of a policy: the policy's name (at most 40 characters of it) and 16 hex digits of SHA-256(policy UID, run id). Creating
 * it is what makes a run id unique: another scope or cutoff under the same id meets the same name.
 */
export function cleanupRunName(policy: { readonly name: string; readonly uid: string }, runId: string): string {
  const part = policy.name.slice(0, MAX_POLICY_PART).replace(/[.-]+$/, "");
  return `${part}-${shortHash(policy.uid, runId)}`;
}

/** A run as those know it who asked for it. */
export interface CleanupRunRef {
  readonly namespace: string;
  /** Name of the CleanupPolicy. */
  readonly policy: string;
  readonly runId: string;
}

/** Path of a run on the API listener of the gateways. */
export function cleanupRunPath({ namespace, policy, runId }: CleanupRunRef): string {
  return `/v1/namespaces/${namespace}/cleanup-policies/${policy}/runs/${encodeURIComponent(runId)}`;
}

/** Whether two specs ask for the same: the same id with another scope, cutoff or mode is a conflict. Times are compared as instants. */
export function isSameRun(a: CleanupRunSpec, b: CleanupRunSpec): boolean {
  return (
    a.policyRef.uid === b.policyRef.uid &&
    a.runId === b.runId &&
    a.scope === b.scope &&
    Date.parse(a.cutoff) === Date.parse(b.cutoff) &&
    a.requestedMode === b.requestedMode
  );
}

/** Label of a run: the name of its policy, cut to 63 characters. */
export const CLEANUP_POLICY_LABEL = "davit.dev/cleanup-policy";
