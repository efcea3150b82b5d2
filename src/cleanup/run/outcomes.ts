import { type DeleteOutcome, StoreError, type VersionEntry, type VersionHead } from "../store/port.ts";
import type { GroupWork } from "./group-work.ts";
import type { EnforceWork } from "./scope-work.ts";
import type { Refused, Tally } from "./tally.ts";

/** A version that is sent, and its key. */
export interface Item {
  readonly group: GroupWork;
  readonly entry: VersionEntry;
}

/** What is known of a version that was sent, in the end. */
type Verdict = "deleted" | "alreadyAbsent" | "again" | Refused["reason"];

/**
 * Accounts for every version that was sent: what the store said of it, and what a HEAD says where that is not enough.
 * @returns the codes of refusals that may go by themselves, and how many were refused for good
 */
export async function account(
  work: EnforceWork,
  outcomes: ReadonlyMap<Item, DeleteOutcome>,
  tally: Tally,
): Promise<{ readonly again: readonly string[]; readonly denied: number }> {
  const verdicts = await Promise.all(
    [...outcomes].map(async ([item, outcome]) => ({
      item,
      outcome,
      verdict: await verdictOf(work, item.entry, outcome),
    })),
  );
  const again: string[] = [];
  let denied = 0;
  for (const { item, outcome, verdict } of verdicts) {
    settle(item, verdict, tally);
    if (verdict === "again") again.push(outcome.type === "refused" ? outcome.code : "Unaccounted");
    if (verdict === "DeniedByStore") denied += 1;
  }
  if (again.includes("SlowDown")) work.limiter.slowDown();
  return { again, denied };
}

function settle({ group, entry }: Item, verdict: Verdict, tally: Tally): void {
  if (verdict === "again") return group.again(entry, true);
  if (verdict === "deleted" || verdict === "alreadyAbsent") {
    tally.gone(entry, verdict);
    return group.gone(entry);
  }
  return group.refuse({ entry, reason: verdict });
}

async function verdictOf(work: EnforceWork, entry: VersionEntry, outcome: DeleteOutcome): Promise<Verdict> {
  if (outcome.type === "deleted") return "deleted";
  const mayHelp = outcome.type === "unaccounted" || outcome.retryable;
  // Of what may be tried again the store says no more than the next try.
  if (outcome.type === "refused" && mayHelp) return "again";
  const head = await presence(work, entry);
  if (head === undefined) return "again";
  if (!head.exists) return "alreadyAbsent";
  return mayHelp ? "again" : whyRefused(head, work.timers.now());
}

/** The store's own words say nothing: a lock and a missing right have the same code. */
function whyRefused(found: Present, now: number): Refused["reason"] {
  if (found.legalHold === true) return "LockedByStore";
  return found.retention !== undefined && found.retention.until > now ? "LockedByStore" : "DeniedByStore";
}

/** Of a delete marker no more is known than that it is there: it has no lock. */
type Present = { readonly exists: true } & Partial<VersionHead & { exists: true }>;

/** `undefined`: the store cannot say it now. */
async function presence(
  { store, limiter, hardSignal }: EnforceWork,
  entry: VersionEntry,
): Promise<Present | { readonly exists: false } | undefined> {
  const ask = async (): Promise<Present | { readonly exists: false }> =>
    entry.type === "Version" ? store.head(entry, hardSignal) : { exists: await store.hasMarker(entry, hardSignal) };
  try {
    return await limiter.runMany(hardSignal, ask);
  } catch (error) {
    if (error instanceof StoreError && error.retryable && !hardSignal.aborted) return undefined;
    throw error;
  }
}
