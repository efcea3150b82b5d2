import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import type { Refusal } from "../../webhook-route/exposure/host-policy.ts";
import type { AcceptedPolicy } from "./accepted-policy.ts";
import { admissions } from "./admission.ts";
import { type CleanerNeed, cleanerNeed } from "./cleaner-need.ts";
import { conditionEvents } from "./conditions.ts";
import { endings } from "./ending.ts";
import { producersOf } from "./producers.ts";
import { isKnownIn, prune, type Pruning } from "./pruning.ts";
import { type NewRun, planTicks, runsOfTick, type TickPlan, type TickRuns } from "./schedule.ts";
import { mergeScopes, scopesOf } from "./scopes.ts";
import { policyStatus, type PolicyStatusInput, samePolicyStatus } from "./status.ts";
import { instant, type PlannedEvent, type PolicyView, type RunView, type StatusWrite } from "./views.ts";

export interface PolicyPlanInput {
  readonly policy: PolicyView;
  /** What its spec comes to; absent: it is not accepted, and `refusal` says why. */
  readonly accepted: AcceptedPolicy | undefined;
  readonly refusal?: Refusal | undefined;
  /** References to Secrets that do not resolve: no cleaner is started. Absent where there are no Secrets. */
  readonly unresolved?: readonly Refusal[];
  /** Every run of this policy: of its name and UID. */
  readonly runs: readonly RunView[];
  /** There is a cleaner now. */
  readonly hasCleaner: boolean;
  /** What keeps it from running. */
  readonly cleanerProblem?: Refusal | undefined;
  /** Unix ms. */
  readonly now: number;
}

/** What is to be done for a policy, in this order; after it all is looked at again by `nextLookAt`, and at every change. */
export interface PolicyPlan {
  /** Runs of the schedule. Making one that is there already changes nothing. */
  readonly create: readonly NewRun[];
  readonly statuses: readonly StatusWrite[];
  /** To be written once everything before it is done; absent: it says the same. */
  readonly status?: CleanupPolicyStatus;
  /** To be deleted, each only while it is the object that was looked at. */
  readonly prune: readonly RunView[];
  readonly cleaner: 0 | 1;
  readonly events: readonly PlannedEvent[];
  /** Unix ms. */
  readonly nextLookAt?: number;
}

/**
 * Everything that a CleanupPolicy asks for now. Pure, and the same in a cluster and over files. It is level-triggered: what of it was done, and what was not, shows in
 * the runs and the status the next time.
 */
export function planPolicy(input: PolicyPlanInput): PolicyPlan {
  const { policy, now } = input;
  const { ended, admitted, settled, scopes } = decide(input);
  const ticks = tickPlan(input);
  const due = dueRuns(input, ticks, settled);
  const need = needOf(input, settled);
  const pruned = pruningOf(input);
  // Not before all of its runs are made.
  const schedule = due.isMore ? policy.status?.schedule : ticks?.after;
  const status = statusOf(input, { settled, scopes, schedule });
  const isAgain = due.isMore || admitted.isMore;
  const looks = [isAgain ? now : undefined, ended.nextAt, need.nextAt, pruned?.nextAt, nextTick(input.accepted, ticks)];
  return {
    create: due.create,
    statuses: [...ended.writes, ...admitted.writes],
    ...(!samePolicyStatus(policy.status, status) && { status }),
    prune: pruned?.runs ?? [],
    cleaner: need.replicas,
    events: [...conditionEvents(policy.status, status), ...tickEvents(ticks, due)],
    ...earliest(looks),
  };
}

/** What is decided of runs that are there, and how they are after that. */
function decide({ policy, accepted, refusal, runs, now }: PolicyPlanInput) {
  const scopes = mergeScopes(scopesOf(policy.status), runs);
  const ended = endings(runs, now);
  const left = after(runs, ended.writes);
  const suspended = policy.spec.suspend === true;
  const admitted = admissions({ runs: left, accepted, refusal: refusal?.message ?? "", suspended, scopes, now });
  return { scopes, ended, admitted, settled: after(left, admitted.writes) };
}

/** A cleaner without its Secrets could do nothing. */
function needOf({ policy, unresolved = [], hasCleaner, now }: PolicyPlanInput, runs: readonly RunView[]): CleanerNeed {
  const suspended = policy.spec.suspend === true || unresolved.length > 0;
  return cleanerNeed(runs, { now, suspended, isThere: hasCleaner });
}

/** By the status as it was written last. While the policy is not accepted, its limits are not known. */
function pruningOf({ policy, accepted, runs, now }: PolicyPlanInput): Pruning | undefined {
  if (accepted === undefined) return undefined;
  const written = scopesOf(policy.status);
  return prune(runs, accepted.history, now, (run) => isKnownIn(policy.status, written, run));
}

function statusOf(
  { policy, accepted, refusal, unresolved = [], cleanerProblem, now }: PolicyPlanInput,
  {
    settled,
    scopes,
    schedule,
  }: { readonly settled: readonly RunView[] } & Pick<PolicyStatusInput, "scopes" | "schedule">,
): CleanupPolicyStatus {
  return policyStatus({
    policy,
    now,
    runs: settled,
    refusal,
    unresolved,
    cleanerProblem,
    accepted,
    schedule,
    producers: producersOf(settled, intervalOf(accepted, now), now),
    scopes,
  });
}

/** The runs with the statuses that some of them are about to have. */
function after(runs: readonly RunView[], writes: readonly StatusWrite[]): readonly RunView[] {
  const statuses = new Map(writes.map(({ run, status }) => [run, status]));
  return runs.map((run) => (statuses.has(run) ? { ...run, status: statuses.get(run) } : run));
}

function tickPlan({ policy, accepted, now }: PolicyPlanInput): TickPlan | undefined {
  const { spec, status, generation } = policy;
  if (accepted?.schedule === undefined) {
    // What is not accepted keeps what is known of its schedule; begun anew, it would forget what it missed.
    const kept = accepted === undefined && spec.schedule !== undefined ? status?.schedule : undefined;
    return kept === undefined ? undefined : { after: kept, missed: 0 };
  }
  const { ticks, startingDeadlineMs } = accepted.schedule;
  return planTicks({
    ticks,
    before: status?.schedule,
    suspended: spec.suspend === true,
    isEdited: status?.observedGeneration !== generation,
    startingDeadlineMs,
    now,
  });
}

const NOTHING_DUE: TickRuns = { create: [], isMore: false, busy: [] };

function dueRuns(
  { policy, accepted }: PolicyPlanInput,
  ticks: TickPlan | undefined,
  runs: readonly RunView[],
): TickRuns {
  if (ticks?.tick === undefined || accepted?.schedule === undefined) return NOTHING_DUE;
  return runsOfTick(policy, ticks.tick, accepted.schedule.expireAfterMs, runs);
}

/** Reasons of events that tell of the schedule. */
export const TICK_EVENTS: ReadonlySet<string> = new Set(["ScheduleMissed", "RunStillOpen", "RunsScheduled"]);

function tickEvents(ticks: TickPlan | undefined, { create, isMore, busy }: TickRuns): readonly PlannedEvent[] {
  if (ticks === undefined || isMore) return [];
  const events: PlannedEvent[] = [];
  if (ticks.missed > 0) {
    const note = `${ticks.missed} ${ticks.missed === 1 ? "time" : "times"} of the schedule passed without a run: only the last one that was missed is made up for, within startingDeadlineSeconds`;
    events.push({ type: "Warning", reason: "ScheduleMissed", note });
  }
  if (busy.length > 0) {
    const note = `${busy.length} of the scopes got no run, as their last scheduled one is still open, among them ${busy.slice(0, 3).join(", ")}`;
    events.push({ type: "Warning", reason: "RunStillOpen", note });
  }
  if (create.length > 0)
    events.push({ type: "Normal", reason: "RunsScheduled", note: "runs of the schedule were made" });
  return events;
}

/** Time between the next two times of the schedule, ms. */
function intervalOf(accepted: AcceptedPolicy | undefined, now: number): number | undefined {
  const ticks = accepted?.schedule?.ticks;
  const first = ticks?.next(now);
  const second = first === undefined ? undefined : ticks?.next(first);
  return first === undefined || second === undefined ? undefined : second - first;
}

/** What is not accepted waits for an edit, not for a time. */
function nextTick(accepted: AcceptedPolicy | undefined, ticks: TickPlan | undefined): number | undefined {
  return accepted === undefined ? undefined : instant(ticks?.after.nextAt);
}

function earliest(times: readonly (number | undefined)[]): { readonly nextLookAt?: number } {
  const first = Math.min(...times.flatMap((time) => time ?? []));
  return Number.isFinite(first) ? { nextLookAt: first } : {};
}
