import { cleanupRunName } from "../../../api/cleanup-run.ts";
import type { Schedule } from "../../../api/cron.ts";
import type { CleanupPolicyStatus } from "../../../api/generated/cleanup-policy.ts";
import type { CleanupRunSpec } from "../../../api/generated/cleanup-run.ts";
import { shortHash } from "../../../lib/hash.ts";
import { instant, isOpen, type PolicyView, rfc3339, type RunView } from "./views.ts";

/** Runs that one look makes: the API server has others to serve. */
export const MOST_CREATED = 200;
/** A policy that was edited while nobody looked may have been suspended until just now: it gets no run that is later than this, ms. */
const EDITED_DEADLINE_MS = 60_000;
/** As in the CRD. */
const MAX_RUN_ID = 128;

export interface TickInput {
  readonly ticks: Schedule;
  /** `status.schedule` as it was written last. */
  readonly before: CleanupPolicyStatus["schedule"];
  readonly suspended: boolean;
  /** The spec was changed since the status was written. */
  readonly isEdited: boolean;
  readonly startingDeadlineMs: number;
  readonly now: number;
}

/** What a schedule asks for now. */
export interface TickPlan {
  /** `status.schedule`, once the runs of `tick` are there. */
  readonly after: NonNullable<CleanupPolicyStatus["schedule"]>;
  /** The time that runs are due for, Unix ms. */
  readonly tick?: number;
  /** Times that are given up now. */
  readonly missed: number;
}

/**
 * Looks at a schedule. `lastAt` is the level: times up to it are settled. Of several that passed only the last one gets runs, and only if it is not too late; the
 * others are missed. A schedule that is new, was changed or was suspended begins now: `nextAt` then is not what follows from `lastAt`.
 */
export function planTicks(input: TickInput): TickPlan {
  const { ticks, before = { missed: 0 }, suspended, now } = input;
  const { lastAt, missed = 0 } = before;
  if (suspended) return { after: settled(lastAt, undefined, missed), missed: 0 };
  const last = goingOnFrom(before, ticks);
  if (last === undefined) return { after: settled(rfc3339(now), ticks.next(now), missed), missed: 0 };
  const latest = ticks.latest(now) ?? last;
  if (latest <= last) return { after: settled(lastAt, ticks.next(last), missed), missed: 0 };
  const isInTime = now - latest <= deadlineOf(input);
  const given = ticks.count(last, latest) - (isInTime ? 1 : 0);
  const after = settled(rfc3339(latest), ticks.next(latest), missed + given);
  return { after, missed: given, ...(isInTime && { tick: latest }) };
}

/** Unix ms up to which a schedule is settled; `undefined`: it begins now. */
function goingOnFrom({ lastAt, nextAt }: TickPlan["after"], ticks: Schedule): number | undefined {
  const last = instant(lastAt);
  return last !== undefined && instant(nextAt) === ticks.next(last) ? last : undefined;
}

function deadlineOf({ isEdited, startingDeadlineMs }: TickInput): number {
  return isEdited ? Math.min(startingDeadlineMs, EDITED_DEADLINE_MS) : startingDeadlineMs;
}

function settled(lastAt: string | undefined, next: number | undefined, missed: number): TickPlan["after"] {
  return { ...(lastAt !== undefined && { lastAt }), ...(next !== undefined && { nextAt: rfc3339(next) }), missed };
}

/** A run that is to be made. */
export interface NewRun {
  readonly name: string;
  readonly spec: CleanupRunSpec;
}

export interface TickRuns {
  readonly create: readonly NewRun[];
  /** There are more to make than one look makes. */
  readonly isMore: boolean;
  /** Scopes that get none: the run before it is still open. */
  readonly busy: readonly string[];
}

/**
 * Runs of a time of the schedule that are not there yet, one for each scope. A scope whose last scheduled run is still open gets none: they would pile up behind
 * a store that is away.
 *
 * @param tick Unix ms
 */
export function runsOfTick(
  policy: PolicyView,
  tick: number,
  expireAfterMs: number,
  runs: readonly RunView[],
): TickRuns {
  const known = new Set(runs.map(({ name }) => name));
  const open = new Set(
    runs.filter((run) => isOpen(run) && run.spec.trigger === "Schedule").map(({ spec }) => spec.scope),
  );
  const missing = (policy.spec.scopes ?? [])
    .map(({ name }) => scheduledRun(policy, tick, expireAfterMs, name))
    .filter(({ name }) => !known.has(name));
  const wanted = missing.filter(({ spec }) => !open.has(spec.scope));
  return {
    create: wanted.slice(0, MOST_CREATED),
    isMore: wanted.length > MOST_CREATED,
    busy: missing.filter(({ spec }) => open.has(spec.scope)).map(({ spec }) => spec.scope),
  };
}

function scheduledRun(policy: PolicyView, tick: number, expireAfterMs: number, scope: string): NewRun {
  const runId = scheduledRunId(tick, scope);
  return {
    name: cleanupRunName(policy, runId),
    spec: {
      instance: policy.spec.instance ?? "default",
      policyRef: { name: policy.name, uid: policy.uid },
      runId,
      scope,
      cutoff: rfc3339(tick - expireAfterMs),
      trigger: "Schedule",
      receivedAt: rfc3339(tick),
    },
  };
}

/**
 * Id of the run of a scope at a time of the schedule: `schedule-20261201T000000Z-<scope>`, the scope cut and with 16 hex digits of its SHA-256 where it would be
 * longer than 128 characters. By the instant and not the local time: an hour that a clock goes through twice makes two.
 */
export function scheduledRunId(tick: number, scope: string): string {
  const time = rfc3339(tick).replaceAll(/[-:]/g, "");
  const id = `schedule-${time}-${scope}`;
  if (id.length <= MAX_RUN_ID) return id;
  const hash = shortHash(scope);
  return `${id.slice(0, MAX_RUN_ID - hash.length - 1)}-${hash}`;
}
