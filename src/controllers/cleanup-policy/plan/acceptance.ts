import { type CleanupPolicyValidation, validateCleanupPolicy } from "../../../api/cleanup-policy-validation.ts";
import type { ResolvedCleanupPolicySpec } from "../../../api/cleanup-policy-defaults.ts";
import { modeOf, policyDigest, snapshotOf } from "../../../api/cleanup-snapshot.ts";
import { parseSchedule } from "../../../api/cron.ts";
import { API_VERSION } from "../../../api/names.ts";
import { formatProblem } from "../../../api/problem.ts";
import { parseDuration } from "../../../lib/duration.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import { invalid } from "../../webhook-route/route/assessment.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import type { PolicyView } from "./views.ts";

/** What the spec of a policy comes to, or why it is refused. */
export type Acceptance = AcceptedPolicy | { readonly refusal: Refusal };

/** By spec, which never changes: a policy is looked at far more often than it is edited. */
const known = new WeakMap<object, Acceptance>();

/** Checks a policy and resolves its defaults; once for each spec, as long as it is the same object. */
export function acceptedPolicy(policy: PolicyView): Acceptance {
  const before = known.get(policy.spec);
  if (before !== undefined) return before;
  const acceptance = accept(policy);
  known.set(policy.spec, acceptance);
  return acceptance;
}

function accept(policy: PolicyView): Acceptance {
  const { spec, problems } = validationOf(policy);
  if (spec === undefined) return { refusal: invalid(problems) };
  const { history, safety, maxAttempts } = spec;
  const { generation } = policy;
  const snapshot: AcceptedPolicy["snapshot"] = (scope, mode) => snapshotOf(spec, { scope, mode, generation });
  return {
    digest: policyDigest(spec),
    maxAttempts,
    s3: snapshot("", "RecordOnly").s3,
    minAgeMs: parseDuration(safety.minAge),
    requireDryRun: safety.requireDryRun,
    history: {
      successful: history.successfulRunsLimit,
      failed: history.failedRunsLimit,
      minAgeMs: parseDuration(history.minAge),
    },
    warnings: problems.map(formatProblem),
    modeOf: (scope, requested) => modeOf(spec, scope, requested),
    snapshot,
    schedule: scheduleOf(spec, policy.createdAt),
  };
}

/** As the manifest would be written: the status is not the user's. */
function validationOf({ namespace, name, spec }: PolicyView): CleanupPolicyValidation {
  return validateCleanupPolicy({ apiVersion: API_VERSION, kind: "CleanupPolicy", metadata: { namespace, name }, spec });
}

function scheduleOf(spec: ResolvedCleanupPolicySpec, createdAt: number): AcceptedPolicy["schedule"] {
  const { schedule, timeZone = "UTC", startingDeadlineSeconds = 0, expireAfter } = spec;
  if (schedule === undefined || expireAfter === undefined) return undefined;
  const parsed = parseSchedule(schedule, timeZone, createdAt);
  if (!parsed.ok) return undefined;
  return {
    ticks: parsed.schedule,
    expireAfterMs: parseDuration(expireAfter),
    startingDeadlineMs: startingDeadlineSeconds * 1_000,
  };
}
