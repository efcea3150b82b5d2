import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import { deletePass } from "./delete-pass.ts";
import { RunFailure } from "./failure.ts";
import { inspectPass, surveyPass, verifyPass } from "./read-passes.ts";
import type { EnforceWork, Position, ScopeWork } from "./scope-work.ts";
import { EMPTY_TALLY, nextRound, type TallyState, unfinishedOf } from "./tally.ts";

/** How a run ends that went through. */
export interface Completed {
  readonly phase: "Succeeded" | "CompletedWithSkips";
  readonly reason: string;
  readonly message: string;
}

/** Where a run goes on. */
export interface Stage {
  readonly position: Position;
  readonly tally: TallyState;
}

/** How often a prefix is gone through to delete before what is left stays. */
const MAX_ROUNDS = 3;

/** What a dry run begins with. */
export const DRY_RUN_START: Stage = { position: { pass: "Inspect", round: 1 }, tally: EMPTY_TALLY };
/** What an Enforce run begins with. */
export const ENFORCE_START: Stage = { position: { pass: "Survey", round: 1 }, tally: EMPTY_TALLY };

/**
 * Looks at everything that a run would delete. It has nothing to delete with.
 * @param countFirst goes through the listing before, so that the journal comes to know how much there is to look at
 * @returns how it ends
 */
export async function dryRun(work: ScopeWork, stage: Stage, countFirst = false): Promise<Completed> {
  await prepare(work);
  if (countFirst) await surveyPass(work, ENFORCE_START.position, EMPTY_TALLY);
  const tally = await inspectPass(work, stage.position, stage.tally);
  await work.journal.commit({ pass: "Inspect", round: 1 }, tally);
  const { planned, kept } = tally.counters;
  const over = tooMany(work.snapshot.safety, tally);
  const message = `${planned} versions would be deleted, ${kept} that have expired would stay`;
  return {
    phase: "Succeeded",
    reason: "Completed",
    message: over === undefined ? message : `${message}; an Enforce run would fail as TooManyDeletes: ${over}`,
  };
}

/** Deletes what is planned, from the stage on that an earlier attempt reached. */
export async function enforce(work: EnforceWork, stage: Stage): Promise<Completed> {
  await prepare(work);
  for (let at = stage; ; ) {
    const next = await PASSES[at.position.pass](work, at);
    if ("phase" in next) return next;
    await work.journal.commit(next.position, next.tally);
    at = next;
  }
}

/** Everything that forbids a run whatever its versions are like. */
async function prepare({ bucket, manifests, facts, signal }: ScopeWork): Promise<void> {
  const { objectLock } = await bucket.check(signal);
  if (objectLock) facts.needLockRights();
  await manifests.refresh(signal);
}

type PassStep = (work: EnforceWork, stage: Stage) => Promise<Stage | Completed>;

const PASSES: Readonly<Record<Position["pass"], PassStep>> = {
  Survey: async (work, { position, tally }) => {
    const surveyed = await surveyPass(work, position, tally);
    return tooMany(work.snapshot.safety, surveyed) === undefined
      ? deleting(1, EMPTY_TALLY)
      : { position: { pass: "Inspect", round: 1 }, tally: EMPTY_TALLY };
  },
  Inspect: async (work, { position, tally }) => {
    // These numbers are seen again by the pass that deletes.
    const silent: ScopeWork = { ...work, onOutcome: () => undefined, onPlanned: () => undefined };
    const inspected = await inspectPass(silent, position, tally);
    const over = tooMany(work.snapshot.safety, inspected);
    if (over === undefined) return deleting(1, EMPTY_TALLY);
    await work.journal.commit({ pass: "Inspect", round: 1 }, inspected);
    throw new RunFailure("TooManyDeletes", `nothing was deleted: ${over}`);
  },
  Delete: async (work, { position, tally }) => {
    const deleted = await deletePass(work, position, tally);
    return { position: { pass: "Verify", round: position.round }, tally: deleted };
  },
  Verify: async (work, { position, tally }) => {
    const isLeft = await verifyPass(work, position, { tallied: tally, expected: unfinishedOf(tally) });
    if (!isLeft) return completed(tally);
    return position.round < MAX_ROUNDS ? deleting(position.round + 1, nextRound(tally)) : notSettled(tally);
  },
};

const deleting = (round: number, tally: TallyState): Stage => ({ position: { pass: "Delete", round }, tally });

/** Why a run may not delete as much; `undefined`: it may. */
export function tooMany(
  safety: CleanupSnapshot["safety"],
  { counters: { planned, listed } }: TallyState,
): string | undefined {
  const { maxDeletesPerRun, maxDeletePercent } = safety;
  if (planned > maxDeletesPerRun) return `${planned} deletes are over safety.maxDeletesPerRun, ${maxDeletesPerRun}`;
  if (planned * 100 > maxDeletePercent * listed)
    return `${planned} deletes of ${listed} versions are over safety.maxDeletePercent, ${maxDeletePercent}`;
  return undefined;
}

function completed(tally: TallyState): Completed {
  const { deleted, kept, failed } = tally.counters;
  const message = `${deleted} versions deleted, ${kept} that have expired stay`;
  if (failed > 0)
    return {
      phase: "CompletedWithSkips",
      reason: "RefusedByStore",
      message: `${message}, ${failed} refused by the store`,
    };
  if ((tally.reasons["TooManyVersions"] ?? 0) > 0)
    return {
      phase: "CompletedWithSkips",
      reason: "TooManyVersions",
      message: `${message}: a key has too many versions to be looked at`,
    };
  return { phase: "Succeeded", reason: "Completed", message };
}

function notSettled({ counters: { deleted } }: TallyState): Completed {
  const message = `${deleted} versions deleted; more that may go were found each of ${MAX_ROUNDS} times`;
  return { phase: "CompletedWithSkips", reason: "NotSettled", message };
}
