import { parseDuration } from "../../../lib/duration.ts";
import { endedStatus, type RunStep } from "./run-status.ts";
import { instant, isHeld, isOpen, LEASE_DEAD_MS, type RunView, type StatusWrite } from "./views.ts";

/** A cleaner ends its runs at their deadline itself; one that is not ended so much later has nobody who would, ms. */
const DEADLINE_GRACE_MS = 300_000;

/** Runs that nobody else will end, and when the next one may have to be. */
export interface Endings {
  readonly writes: readonly StatusWrite[];
  /** Unix ms. */
  readonly nextAt?: number;
}

/** What ends a run, if anything does now; or Unix ms at which something may. */
type Ending = RunStep | { readonly atMs: number } | undefined;

const CANCELLED = { phase: "Cancelled", reason: "Cancelled", message: "spec.cancel asked for it" } as const;

/** Runs of a policy that is there: those that were cancelled and that nobody works on, and those that outlived their deadline without a cleaner to say so. */
export function endings(runs: readonly RunView[], now: number): Endings {
  return collect(runs, now, (run) => {
    if (run.spec.cancel === true) return unlessHeld(run, now, CANCELLED);
    return overdue(run, now);
  });
}

/** Runs of a policy that is gone, or that another one has the name of. */
export function orphanEndings(runs: readonly RunView[], now: number): Endings {
  const message = `CleanupPolicy ${runs[0]?.spec.policyRef.name ?? ""} was deleted, or made anew: ask its successor for a run`;
  return collect(runs, now, (run) => {
    if (run.status?.snapshot === undefined) return { phase: "Rejected", reason: "PolicyGone", message };
    return unlessHeld(run, now, { phase: "Cancelled", reason: "PolicyGone", message });
  });
}

function collect(runs: readonly RunView[], now: number, endingOf: (run: RunView) => Ending): Endings {
  const writes: StatusWrite[] = [];
  let nextAt = Number.POSITIVE_INFINITY;
  for (const run of runs.filter(isOpen)) {
    const ending = endingOf(run);
    if (ending === undefined) continue;
    if ("atMs" in ending) nextAt = Math.min(nextAt, ending.atMs);
    else writes.push({ run, status: endedStatus(run, ending, now), event: eventOf(ending) });
  }
  return { writes, ...(Number.isFinite(nextAt) && { nextAt }) };
}

function eventOf({ phase, reason, message }: RunStep): StatusWrite["event"] {
  return { type: phase === "Cancelled" ? "Normal" : "Warning", reason, note: message };
}

/** Whoever works on it ends it at the next batch; when there is nobody, it ends here. */
function unlessHeld(run: RunView, now: number, step: RunStep): Ending {
  return isHeld(run, now) ? { atMs: (run.leaseSeenAt ?? now) + LEASE_DEAD_MS } : step;
}

function overdue(run: RunView, now: number): Ending {
  const { snapshot, admittedAt } = run.status ?? {};
  const admitted = instant(admittedAt);
  if (snapshot === undefined || admitted === undefined) return undefined;
  const atMs = admitted + parseDuration(snapshot.runDeadline) + DEADLINE_GRACE_MS;
  if (now < atMs) return { atMs };
  const message = `not done within ${snapshot.runDeadline} of its admission (spec.runDeadline), and no cleaner was there to say so`;
  return unlessHeld(run, now, { phase: "Failed", reason: "DeadlineExceeded", message });
}
