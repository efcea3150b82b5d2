import type { ObjectStoreLocation } from "../support/object-store/location.ts";
import { peakMemory } from "./cleanup/memory.ts";
import { plannerRate } from "./cleanup/planner.ts";
import { type StoreTimes, storeRound } from "./cleanup/store.ts";

/** How much is measured. */
export interface CleanupSizes {
  readonly rounds: number;
  /** Versions that the planner takes in a round. */
  readonly planned: number;
  /** Versions in the real store, in each bucket of a round. */
  readonly stored: number;
  /** Versions of the small and the large made-up bucket. */
  readonly listed: { readonly few: number; readonly many: number };
}

export const FULL_CLEANUP: CleanupSizes = {
  rounds: 4,
  planned: 1_000_000,
  stored: 5_000,
  listed: { few: 10_000, many: 1_000_000 },
};
/** To see that it runs. */
export const QUICK_CLEANUP: CleanupSizes = {
  rounds: 1,
  planned: 10_000,
  stored: 100,
  listed: { few: 1_000, many: 10_000 },
};

export interface CleanupResult {
  /** Versions a second, one value a round. */
  readonly planner: readonly number[];
  readonly store: StoreTimes;
  /** MiB. */
  readonly memory: { readonly few: number; readonly many: number };
}

/** Measures the planner, what a run costs over the store's own work, and what a run holds in memory. */
export async function benchCleanup(
  location: ObjectStoreLocation,
  { rounds, planned, stored, listed }: CleanupSizes,
  tell: (what: string) => void,
): Promise<CleanupResult> {
  const planner: number[] = [];
  const store: StoreTimes = { dryRun: [], enforce: [], batches: [] };
  for (let round = 1; round <= rounds; round += 1) {
    tell(`round ${round} of ${rounds}`);
    // oxlint-disable no-await-in-loop -- one thing at a time has the machine
    planner.push(await plannerRate(planned));
    await storeRound(location, { round, versions: stored }, store);
    // oxlint-enable no-await-in-loop
  }
  tell("memory");
  return { planner, store, memory: { few: await peakMemory(listed.few), many: await peakMemory(listed.many) } };
}
