import type { CleanupCounters, CleanupRunStatus, CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import { systemTimers, type Timers } from "../../lib/timers.ts";
import type { ObjectStore, VersionEntry } from "../store/port.ts";
import { failureOf } from "./failure.ts";
import { StoreLimiter } from "./limiter.ts";
import { DRY_RUN_START, dryRun, tooMany } from "./passes.ts";
import { type Position, scopeWork } from "./scope-work.ts";
import { EMPTY_TALLY, type TallyState } from "./tally.ts";

export interface PlanScopeOptions {
  readonly store: ObjectStore;
  readonly snapshot: CleanupSnapshot;
  /** Unix ms. */
  readonly cutoff: number;
  readonly signal: AbortSignal;
  /** Versions that would go, in the order in which they would be planned: what {@link PlannedScope.planDigest} is of. */
  readonly onPlanned?: (entries: readonly VersionEntry[]) => void;
  /** Every page of `Survey`; every 500 keys of `Inspect`, and at its end. */
  readonly onProgress?: (counters: CleanupCounters, pass: Position["pass"]) => void;
  /** Goes through the listing before, as `Survey`: what that lists is what `Inspect` will have looked at in the end, unless somebody writes meanwhile. */
  readonly countFirst?: boolean;
  readonly timers?: Timers;
}

/** What a dry run of a scope found. */
export interface PlannedScope {
  readonly type: "planned";
  readonly counters: CleanupCounters;
  /** Number of those kept, by reason. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly samples: NonNullable<CleanupRunStatus["samples"]>;
  readonly planDigest: string;
  /** Why an Enforce run would end as Failed/TooManyDeletes. */
  readonly tooManyDeletes?: string;
}

/** Why there is no plan. `reason`: as in the status of a run that failed. */
export interface ScopeNotPlanned {
  readonly type: "failed";
  readonly reason: string;
  readonly message: string;
  /** Trying again may help. */
  readonly retryable: boolean;
}

/** One dry run of one scope, without a record of it. Changes nothing: it has nothing to delete with. Never rejects. */
export async function planScope(options: PlanScopeOptions): Promise<PlannedScope | ScopeNotPlanned> {
  const { store, snapshot, cutoff, signal, onPlanned, onProgress, countFirst, timers = systemTimers } = options;
  let last = EMPTY_TALLY;
  const note = ({ pass }: Position, tally: TallyState) => {
    last = tally;
    onProgress?.(tally.counters, pass);
  };
  const work = scopeWork({
    store,
    snapshot,
    cutoff,
    timers,
    limiter: new StoreLimiter({ timers }),
    batchesAtOnce: 1,
    signal,
    journal: { moved: note, commit: (position, tally) => Promise.resolve(note(position, tally)) },
    onPlanned: (entries) => onPlanned?.(entries),
    onOutcome: () => undefined,
  });
  try {
    await dryRun(work, DRY_RUN_START, countFirst);
  } catch (error) {
    const { code, message, retryable } = failureOf(error);
    return { type: "failed", reason: code, message, retryable };
  }
  const tooManyDeletes = tooMany(snapshot.safety, last);
  return {
    type: "planned",
    ...last,
    samples: [...last.samples],
    ...(tooManyDeletes !== undefined && { tooManyDeletes }),
  };
}
