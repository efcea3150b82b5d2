import type { CleanupSnapshot } from "../../api/generated/cleanup-run.ts";
import type { Timers } from "../../lib/timers.ts";
import type { FactRules, ListingRules } from "../plan/types.ts";
import type { ObjectStore, VersionDeleter, VersionEntry } from "../store/port.ts";
import { FactReader } from "./facts.ts";
import type { StoreLimiter } from "./limiter.ts";
import { Manifests } from "./manifests.ts";
import { BucketWatch } from "./preflight.ts";
import type { TallyState } from "./tally.ts";

export type Pass = "Survey" | "Inspect" | "Delete" | "Verify";

/** How far a pass is: everything up to `lastKey` is settled. */
export interface Position {
  readonly pass: Pass;
  /** How often the prefix has been gone through to delete; 1 before the first. */
  readonly round: number;
  readonly lastKey?: string | undefined;
}

/** Where passes say how far they are. */
export interface Journal {
  /** Kept now and then: a process that dies does a few pages again. */
  moved(position: Position, tally: TallyState): void;
  /** Kept before it resolves. Rejects when it cannot be kept: then nothing more may be deleted. */
  commit(position: Position, tally: TallyState): Promise<void>;
}

/** What the passes over one scope need that read only. */
export interface ScopeWork {
  readonly store: ObjectStore;
  readonly snapshot: CleanupSnapshot;
  /** Unix ms. */
  readonly cutoff: number;
  readonly timers: Timers;
  readonly limiter: StoreLimiter;
  readonly manifests: Manifests;
  readonly bucket: BucketWatch;
  readonly facts: FactReader;
  readonly listing: ListingRules;
  /** Batches that are deleted at a time at most. */
  readonly batchesAtOnce: number;
  /** Ends reading at once. */
  readonly signal: AbortSignal;
  readonly journal: Journal;
  readonly onPlanned: (entries: readonly VersionEntry[]) => void;
  /** Told what became of versions: `deleted`, `planned` or a reason, for metrics. */
  readonly onOutcome: (outcome: string, number: number) => void;
}

/** … and what the pass needs that deletes. */
export interface EnforceWork extends ScopeWork {
  readonly deleter: VersionDeleter;
  /** Ends a delete that is under way: when somebody else may hold the run. */
  readonly hardSignal: AbortSignal;
  /** Called right before each delete; throws when there may be none. */
  readonly mayDelete: () => void;
  /** Told how long a batch took, ms. */
  readonly onBatch: (ms: number) => void;
}

export type ScopeInput = Pick<
  ScopeWork,
  | "store"
  | "snapshot"
  | "cutoff"
  | "timers"
  | "limiter"
  | "batchesAtOnce"
  | "signal"
  | "journal"
  | "onPlanned"
  | "onOutcome"
>;

export function scopeWork(input: ScopeInput): ScopeWork {
  const { store, snapshot, cutoff, timers, limiter } = input;
  const manifests = new Manifests({ store, limiter, timers, exclusions: snapshot.exclusions });
  return {
    ...input,
    manifests,
    bucket: new BucketWatch(store, limiter, timers),
    facts: new FactReader({ store, limiter, timers, exclusions: snapshot.exclusions }),
    listing: {
      prefix: snapshot.prefix,
      cutoff,
      protectedPrefixes: snapshot.exclusions.protectedPrefixes,
      isReferenced: manifests.isReferenced,
    },
  };
}

/** What decides by what the store says now. */
export function factRules({ snapshot: { exclusions }, timers }: ScopeWork): FactRules {
  const { objectLock, legalHold, tags } = exclusions;
  return { now: timers.now(), objectLock, legalHold, tags };
}
