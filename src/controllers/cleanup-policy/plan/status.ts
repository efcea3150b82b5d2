import { isDeepStrictEqual } from "node:util";
import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import { isFinished } from "../../../api/cleanup-run.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import { policyConditions } from "./conditions.ts";
import type { Producers } from "./producers.ts";
import type { Scopes } from "./scopes.ts";
import { finishedAt, isOpen, type PolicyView, rfc3339, type RunView } from "./views.ts";

export interface PolicyStatusInput {
  readonly policy: PolicyView;
  /** Unix ms. */
  readonly now: number;
  /** As they will be: finished ones included. */
  readonly runs: readonly RunView[];
  /** Why it is not accepted. */
  readonly refusal?: Refusal | undefined;
  /** References to Secrets that do not resolve. */
  readonly unresolved: readonly Refusal[];
  /** What keeps its cleaner from running. */
  readonly cleanerProblem?: Refusal | undefined;
  /** What the spec comes to, when it is accepted. */
  readonly accepted?: Pick<AcceptedPolicy, "digest" | "maxAttempts" | "s3" | "warnings"> | undefined;
  readonly schedule: CleanupPolicyStatus["schedule"];
  readonly producers: Producers;
  readonly scopes: Scopes;
}

/** The whole status of a CleanupPolicy. Pure: equal input gives an equal status, and no time in it moves by itself. */
export function policyStatus(input: PolicyStatusInput): CleanupPolicyStatus {
  const { policy, runs, accepted, schedule, scopes } = input;
  const before = policy.status ?? {};
  const { digest, maxAttempts } = accepted ?? before;
  const lastRun = lastRunOf(before.lastRun, runs);
  return {
    observedGeneration: policy.generation,
    conditions: policyConditions(input),
    ...(digest !== undefined && { digest }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    openRuns: runs.filter(isOpen).length,
    ...(schedule !== undefined && { schedule }),
    ...(lastRun !== undefined && { lastRun }),
    ...(scopes.size > 0 && { scopes: [...scopes.values()] }),
  };
}

type LastRun = NonNullable<CleanupPolicyStatus["lastRun"]>;

/** The run that finished last, also when its record is gone. */
function lastRunOf(before: LastRun | undefined, runs: readonly RunView[]): LastRun | undefined {
  const ended = runs
    .filter(({ status }) => isFinished(status))
    .map((run) => ({ name: run.name, phase: run.status?.phase ?? "", finishedAt: rfc3339(finishedAt(run)) }));
  return [...(before === undefined ? [] : [before]), ...ended].toSorted(byEnd).at(-1);
}

function byEnd(a: LastRun, b: LastRun): number {
  return Date.parse(a.finishedAt) - Date.parse(b.finishedAt) || a.name.localeCompare(b.name);
}

/** Whether there is nothing to write. */
export function samePolicyStatus(a: CleanupPolicyStatus | undefined, b: CleanupPolicyStatus): boolean {
  return a !== undefined && isDeepStrictEqual(a, b);
}
