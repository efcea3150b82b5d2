import type { CleanupCounters, CleanupRunStatus } from "../../api/generated/cleanup-run.ts";
import { extendDigest } from "../plan/plan-digest.ts";
import type { GroupDecision, GroupPlan, Kept } from "../plan/types.ts";
import type { VersionEntry } from "../store/port.ts";

type Counter = keyof CleanupCounters;
export type Counters = Readonly<Record<Counter, number>>;
type Samples = NonNullable<CleanupRunStatus["samples"]>;

/** Numbers of a pass, as a run's status has them. */
export interface TallyState {
  readonly counters: Counters;
  readonly reasons: Readonly<Record<string, number>>;
  readonly samples: Samples;
  /** Empty before the first version. */
  readonly planDigest: string;
}

const ZERO: Counters = {
  listed: 0,
  expired: 0,
  planned: 0,
  plannedBytes: 0,
  deleted: 0,
  deletedBytes: 0,
  alreadyAbsent: 0,
  kept: 0,
  failed: 0,
};
export const EMPTY_TALLY: TallyState = { counters: ZERO, reasons: {}, samples: [], planDigest: "" };

export const MAX_SAMPLES = 20;
const SAMPLE_CHARACTERS = 256;

/** A version that the store refused for good. */
export interface Refused {
  readonly entry: VersionEntry;
  readonly reason: "LockedByStore" | "DeniedByStore";
}

/** A key that nothing more is done about. */
export interface SettledGroup {
  /** Of entries that were listed and are not {@link Tally.gone}. */
  readonly left: number;
  /** Expired ones of these. */
  readonly expired: number;
  /** All that were planned, in their order, gone or not. */
  readonly planned: readonly VersionEntry[];
  /** Planned ones that are not gone. */
  readonly unfinished: readonly VersionEntry[];
  readonly kept: readonly Kept[];
  readonly refused: readonly Refused[];
}

/**
 * Counts what a pass sees. What is gone counts at once, as it will not be listed again; what stays counts when its key is settled, as an attempt that goes on from the last settled
 * key lists it again.
 */
export class Tally {
  readonly #counters: Record<Counter, number>;
  readonly #reasons: Record<string, number>;
  readonly #samples: Samples[number][];
  readonly #onOutcome: (outcome: string, number: number) => void;
  #planDigest: string;

  constructor(from: TallyState, onOutcome: (outcome: string, number: number) => void = () => undefined) {
    this.#counters = { ...from.counters };
    this.#reasons = { ...from.reasons };
    this.#samples = [...from.samples];
    this.#planDigest = from.planDigest;
    this.#onOutcome = onOutcome;
  }

  get counters(): Counters {
    return this.#counters;
  }

  /** As it is now. */
  state(): TallyState {
    return {
      counters: { ...this.#counters },
      reasons: { ...this.#reasons },
      samples: [...this.#samples],
      planDigest: this.#planDigest,
    };
  }

  /** A key by the listing alone: what may be planned at most. */
  surveyed(plan: GroupPlan): void {
    this.#seen(plan);
    this.#plan(plan.candidates);
    this.#keep(plan.kept);
    this.#keepTooLarge(plan);
  }

  /** A key of which nothing is deleted. */
  inspected(plan: GroupPlan, { deletes, absent, kept }: GroupDecision): void {
    this.#seen(plan);
    this.#plan(deletes);
    this.#plan(absent);
    this.#add("alreadyAbsent", absent.length);
    this.#keep(kept);
    this.#keepTooLarge(plan);
    this.#planDigest = extendDigest(this.#planDigest, deletes);
    this.#tell("planned", deletes.length);
    this.#tell("alreadyAbsent", absent.length);
  }

  /** A version that is no more. */
  gone(entry: VersionEntry, how: "deleted" | "alreadyAbsent"): void {
    this.#add("listed", 1);
    this.#add("expired", 1);
    this.#plan([entry]);
    this.#add(how, 1);
    if (how === "deleted") this.#add("deletedBytes", entry.size);
    this.#tell(how, 1);
  }

  settled({ left, expired, planned, unfinished, kept, refused }: SettledGroup): void {
    this.#add("listed", left);
    this.#add("expired", expired);
    this.#plan(unfinished);
    this.#keep(kept);
    this.#add("failed", refused.length);
    for (const { entry, reason } of refused) this.#reason(entry, reason);
    this.#planDigest = extendDigest(this.#planDigest, planned);
  }

  /** A key of too many versions, which are not held. */
  #keepTooLarge({ group, expired }: GroupPlan): void {
    if (group.tooLarge === undefined) return;
    this.#add("kept", expired);
    this.#count("TooManyVersions", expired);
    this.#sample({ key: group.key, reason: "TooManyVersions" });
  }

  /** As {@link settled} of such a key. */
  settledTooLarge(plan: GroupPlan): void {
    this.#seen(plan);
    this.#keepTooLarge(plan);
  }

  #seen({ group, expired }: GroupPlan): void {
    this.#add("listed", group.tooLarge ?? group.entries.length);
    this.#add("expired", expired);
  }

  #plan(entries: readonly VersionEntry[]): void {
    this.#add("planned", entries.length);
    for (const { size } of entries) this.#add("plannedBytes", size);
  }

  #keep(kept: readonly Kept[]): void {
    this.#add("kept", kept.length);
    for (const { entry, reason } of kept) this.#reason(entry, reason);
  }

  #reason(entry: VersionEntry, reason: string): void {
    this.#count(reason, 1);
    this.#sample({ key: entry.key, versionId: entry.versionId, reason });
  }

  #count(reason: string, number: number): void {
    this.#reasons[reason] = (this.#reasons[reason] ?? 0) + number;
    this.#tell(reason, number);
  }

  #sample({ key, ...rest }: Samples[number]): void {
    if (this.#samples.length < MAX_SAMPLES) this.#samples.push({ key: firstCharacters(key), ...rest });
  }

  #add(counter: Counter, number: number): void {
    this.#counters[counter] += number;
  }

  #tell(outcome: string, number: number): void {
    if (number > 0) this.#onOutcome(outcome, number);
  }
}

/** Planned versions of a round that are still there: refused, or held back by one that was. */
export function unfinishedOf({ counters: { planned, deleted, alreadyAbsent } }: TallyState): number {
  return planned - deleted - alreadyAbsent;
}

/** What a further round begins with: what is gone stays counted, all else is seen again. */
export function nextRound({ counters, planDigest }: TallyState): TallyState {
  const { deleted, deletedBytes, alreadyAbsent } = counters;
  const gone = deleted + alreadyAbsent;
  return {
    counters: {
      ...ZERO,
      listed: gone,
      expired: gone,
      planned: gone,
      plannedBytes: deletedBytes,
      deleted,
      deletedBytes,
      alreadyAbsent,
    },
    reasons: {},
    samples: [],
    planDigest,
  };
}

/** Does not end in half of a surrogate pair, which is no UTF-8. */
function firstCharacters(key: string): string {
  const cut = key.slice(0, SAMPLE_CHARACTERS);
  return cut.length < key.length && /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}
