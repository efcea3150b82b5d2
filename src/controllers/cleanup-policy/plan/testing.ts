import { CLEANUP_MODES, cleanupRunName } from "../../../api/cleanup-run.ts";
import { parseSchedule, type Schedule } from "../../../api/cron.ts";
import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import type { CleanupRunSpec, CleanupRunStatus, CleanupSnapshot } from "../../../api/generated/cleanup-run.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import { planPolicy, type PolicyPlan, type PolicyPlanInput } from "./plan-policy.ts";
import { type PolicyView, rfc3339, type RunView, type StatusWrite } from "./views.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** A Tuesday. */
export const NOON = Date.parse("2030-01-01T12:00:00Z");

export const S3 = { region: "us-east-1", bucket: "lake", forcePathStyle: false, checksum: "Auto" } as const;

/** Times of five fields of cron. */
export function ticksOf(expression: string, timeZone = "UTC"): Schedule {
  const parsed = parseSchedule(expression, timeZone, NOON);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.schedule;
}

export function acceptedPolicyOf(fields: Partial<AcceptedPolicy> = {}): AcceptedPolicy {
  const digest = fields.digest ?? "d1";
  return {
    digest,
    maxAttempts: 5,
    s3: S3,
    minAgeMs: DAY,
    requireDryRun: true,
    history: { successful: 20, failed: 50, minAgeMs: 14 * DAY },
    modeOf: (_scope, requested = "Enforce") => requested,
    snapshot: (scope, mode) => snapshotOf(mode, digest, scope),
    ...fields,
  };
}

/** As {@link AcceptedPolicy.modeOf}, for scopes of one mode. */
export function capped(mode: (typeof CLEANUP_MODES)[number]): AcceptedPolicy["modeOf"] {
  return (_scope, requested = mode) =>
    CLEANUP_MODES[Math.min(CLEANUP_MODES.indexOf(requested), CLEANUP_MODES.indexOf(mode))] ?? "RecordOnly";
}

export function snapshotOf(mode: CleanupSnapshot["mode"], digest = "d1", scope = "a"): CleanupSnapshot {
  return {
    generation: 1,
    digest,
    s3: S3,
    prefix: `warehouses/${scope}/`,
    mode,
    exclusions: { tags: [], objectLock: true, legalHold: true, manifests: [], protectedPrefixes: [], maxAge: "60s" },
    batchSize: 200,
    maxAttempts: 5,
    runDeadline: "24h",
    safety: { maxDeletesPerRun: 1_000, maxDeletePercent: 50 },
  };
}

export const POLICY: PolicyView = {
  namespace: "shop",
  name: "expired",
  uid: "uid-1",
  generation: 1,
  createdAt: NOON - 90 * DAY,
  spec: { s3: { bucket: "lake" }, prefixTemplate: "warehouses/{scope}/" },
  status: undefined,
};

/** A run that was pushed at noon for versions older than ten days. */
export function runOf(runId: string, spec: Partial<CleanupRunSpec> = {}, status?: CleanupRunStatus): RunView {
  const received = spec.receivedAt ?? rfc3339(NOON);
  return {
    name: cleanupRunName(POLICY, runId),
    uid: `run-${runId}`,
    createdAt: Date.parse(received),
    generation: 1,
    spec: {
      policyRef: { name: POLICY.name, uid: POLICY.uid },
      runId,
      scope: "a",
      cutoff: rfc3339(NOON - 10 * DAY),
      trigger: "Push",
      receivedAt: received,
      ...spec,
    },
    status,
  };
}

/** A status of an admitted run. @param at Unix ms at which it was admitted, and ended if it has */
export function admitted(
  mode: CleanupSnapshot["mode"],
  phase: NonNullable<CleanupRunStatus["phase"]> = "Pending",
  at: number = NOON,
): CleanupRunStatus {
  const isOpen = phase === "Pending" || phase === "Running";
  return {
    phase,
    reason: "Why",
    snapshot: snapshotOf(mode),
    admittedAt: rfc3339(at),
    ...(!isOpen && { finishedAt: rfc3339(at) }),
  };
}

export function planOf(fields: Partial<PolicyPlanInput> = {}): PolicyPlan {
  return planPolicy({
    policy: POLICY,
    accepted: acceptedPolicyOf(),
    runs: [],
    hasCleaner: false,
    now: NOON,
    ...fields,
  });
}

/** `runId phase/reason` of each status that is to be written. */
export function said(writes: readonly StatusWrite[]): string[] {
  return writes.map(({ run, status }) => `${run.spec.runId} ${status.phase}/${status.reason}`);
}

/** A policy, its runs and its status over time: what a plan asks for is done at once. */
export class World {
  policy: PolicyView;
  runs: readonly RunView[];
  accepted: AcceptedPolicy | undefined;
  now = NOON;
  cleaner: 0 | 1 = 0;
  lost = 0;

  constructor(policy: Partial<PolicyView> = {}, accepted: Partial<AcceptedPolicy> = {}, runs: readonly RunView[] = []) {
    this.policy = { ...POLICY, ...policy };
    this.accepted = acceptedPolicyOf(accepted);
    this.runs = runs;
  }

  /** One look, and everything done that it asks for. `before` may keep the status from being written. */
  look(now: number = this.now, isWritten = true): PolicyPlan {
    this.now = now;
    const plan = planOf({
      policy: this.policy,
      accepted: this.accepted,
      runs: this.runs,
      hasCleaner: this.cleaner === 1,
      now,
    });
    const made = plan.create.map(({ name, spec }) => ({
      name,
      uid: `run-${spec.runId}`,
      createdAt: now,
      generation: 1,
      spec,
      status: undefined,
    }));
    const known = new Set(this.runs.map(({ name }) => name));
    this.runs = [...this.runs, ...made.filter(({ name }) => !known.has(name))];
    for (const { run, status } of plan.statuses) this.set(run.spec.runId, status);
    this.runs = this.runs.filter(({ uid }) => !plan.prune.some((pruned) => pruned.uid === uid));
    this.cleaner = plan.cleaner;
    if (plan.status !== undefined && isWritten) this.written(plan.status);
    return plan;
  }

  /** Looks until nothing is to be done any more. */
  settle(now: number = this.now): PolicyPlan {
    for (let looks = 0; looks < 20; looks += 1) {
      const plan = this.look(now);
      const isDone = plan.create.length + plan.statuses.length + plan.prune.length === 0;
      if (isDone && plan.status === undefined) return plan;
    }
    throw new Error("it never settles");
  }

  written(status: CleanupPolicyStatus): void {
    this.policy = { ...this.policy, status };
  }

  edit(spec: Partial<PolicyView["spec"]>): void {
    const { generation } = this.policy;
    this.policy = { ...this.policy, generation: generation + 1, spec: { ...this.policy.spec, ...spec } };
  }

  add(run: RunView): void {
    this.runs = [...this.runs, run];
  }

  set(runId: string, status: CleanupRunStatus): void {
    this.runs = this.runs.map((run) => (run.spec.runId === runId ? { ...run, status } : run));
  }

  /** What a cleaner says of a run that it has carried out. */
  finish(runId: string, phase: "Succeeded" | "CompletedWithSkips" | "Failed", at = this.now): void {
    const { status = {} } = this.run(runId) ?? {};
    this.set(runId, { ...status, phase, reason: "Done", finishedAt: rfc3339(at) });
  }

  run(runId: string): RunView | undefined {
    return this.runs.find(({ spec }) => spec.runId === runId);
  }

  get ids(): string[] {
    return this.runs.map(({ spec }) => spec.runId).toSorted();
  }
}
