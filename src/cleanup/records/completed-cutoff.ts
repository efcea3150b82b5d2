import { parseInstant } from "../../api/cleanup-request.ts";
import type { CleanupPolicyStatus } from "../../api/generated/cleanup-policy.ts";
import type { RunRecord } from "./port.ts";

/** What says which cutoffs are completed. */
export interface CompletionSources {
  readonly policyUid: string;
  /** `status.scopes` of the policy: outlives the runs, and comes a moment later. */
  readonly scopes: CleanupPolicyStatus["scopes"];
  /** All that are known, finished ones among them. */
  readonly runs: Iterable<Pick<RunRecord, "spec" | "status">>;
}

/**
 * The highest cutoff that an Enforce run of a scope completed, Unix ms; `undefined`: none is known of. A run that has just ended counts at once, whether or not the policy's status
 * names it yet: else a second run could begin in between.
 */
export function completedCutoff({ policyUid, scopes, runs }: CompletionSources, scope: string): number | undefined {
  const known = scopes?.find(({ name }) => name === scope)?.lastCutoff;
  const cutoffs = [...runs]
    .filter(({ spec }) => spec.policyRef.uid === policyUid && spec.scope === scope)
    .filter(({ status: { phase, snapshot } }) => snapshot?.mode === "Enforce" && isCompleted(phase))
    .map(({ spec }) => spec.cutoff);
  const times = [known, ...cutoffs].flatMap((text) => parseInstant(text ?? "") ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function isCompleted(phase: RunRecord["status"]["phase"]): boolean {
  return phase === "Succeeded" || phase === "CompletedWithSkips";
}
