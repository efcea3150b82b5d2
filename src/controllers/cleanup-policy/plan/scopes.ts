import type { CleanupPolicyScopeStatus, CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import { finishedAt, instant, rfc3339, type RunView } from "./views.ts";

/** Most scopes that a policy's status has room for, as in the CRD. */
export const MAX_SCOPES = 2_000;

/** What is known of each scope, by name, in the order of the status. */
export type Scopes = ReadonlyMap<string, CleanupPolicyScopeStatus>;

export function scopesOf(status: CleanupPolicyStatus | undefined): Scopes {
  return new Map((status?.scopes ?? []).map((scope) => [scope.name, scope]));
}

const COMPLETED: ReadonlySet<string> = new Set(["Succeeded", "CompletedWithSkips"]);

/** What a run adds to what is known of its scope; `undefined`: nothing, now and ever, or not yet. */
export function gainOf(run: RunView): CleanupPolicyScopeStatus | undefined {
  const { spec, status } = run;
  const { snapshot, phase = "" } = status ?? {};
  if (snapshot === undefined || snapshot.mode === "RecordOnly" || !COMPLETED.has(phase)) return undefined;
  const verified = { name: spec.scope, verifiedDigest: snapshot.digest, verifiedAt: rfc3339(finishedAt(run)) };
  const cutoff = instant(spec.cutoff);
  if (snapshot.mode !== "Enforce" || cutoff === undefined) return verified;
  return { ...verified, lastCutoff: rfc3339(cutoff), lastRunId: spec.runId };
}

/**
 * What is known of the scopes with what these runs add. Monotone: a cutoff only grows, a later proof replaces an earlier one, and no scope is ever forgotten.
 * A scope that there is no room for is left out, and {@link isMerged} says so.
 */
export function mergeScopes(known: Scopes, runs: readonly RunView[]): Scopes {
  const merged = new Map(known);
  for (const run of runs.toSorted((a, b) => finishedAt(a) - finishedAt(b) || a.name.localeCompare(b.name))) {
    const gain = gainOf(run);
    if (gain === undefined || (!merged.has(gain.name) && merged.size >= MAX_SCOPES)) continue;
    merged.set(gain.name, joined(merged.get(gain.name) ?? { name: gain.name }, gain));
  }
  return merged;
}

function joined(before: CleanupPolicyScopeStatus, gain: CleanupPolicyScopeStatus): CleanupPolicyScopeStatus {
  const { lastCutoff, lastRunId, verifiedDigest, verifiedAt } = gain;
  return {
    ...before,
    ...(isLater(lastCutoff, before.lastCutoff) && { lastCutoff, lastRunId }),
    ...(isLater(verifiedAt, before.verifiedAt) && { verifiedDigest, verifiedAt }),
  };
}

/** Whether everything that a run adds is in there already: only then may it be forgotten. */
export function isMerged(scopes: Scopes, run: RunView): boolean {
  const gain = gainOf(run);
  if (gain === undefined) return true;
  const known = scopes.get(gain.name);
  if (known === undefined) return false;
  return !isLater(gain.lastCutoff, known.lastCutoff) && !isLater(gain.verifiedAt, known.verifiedAt);
}

function isLater(a: string | undefined, b: string | undefined): boolean {
  const at = instant(a);
  return at !== undefined && at > (instant(b) ?? Number.NEGATIVE_INFINITY);
}
