import { type DeleteOutcome, StoreError } from "../store/port.ts";
import { FACTS_AGE_MS } from "./decide.ts";
import type { Item } from "./outcomes.ts";
import type { EnforceWork } from "./scope-work.ts";

/** Tries of a version by batches; those after it go by a call of its own. */
export const BATCH_TRIES = 3;
/** … and this many in all. */
export const MAX_TRIES = 6;

/** XML 1.0 has no such characters (https://www.w3.org/TR/xml/#charsets): a batch that names one fails as a whole. */
// oxlint-disable-next-line no-control-regex -- those are meant
const NOT_IN_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/;

/** Refusals of a whole batch that a single version may have caused, and that others may do without. */
const BY_ONE: ReadonlySet<string> = new Set(["AccessDenied", "RefusedByStore", "InvalidAnswer"]);

/** What became of versions; `ended`: why the rest were not sent. */
export interface Sent {
  readonly outcomes: ReadonlyMap<Item, DeleteOutcome>;
  readonly unsent: readonly Item[];
  readonly ended?: unknown;
}

/** Deletes versions, by one call where that is possible. Never rejects: what is known of some stays known. */
export async function send(work: EnforceWork, items: readonly Item[]): Promise<Sent> {
  const outcomes = new Map<Item, DeleteOutcome>();
  const unsent = new Set(items);
  const keep = (item: Item, outcome: DeleteOutcome) => {
    outcomes.set(item, outcome);
    unsent.delete(item);
  };
  const together = items.filter((item) => !goesAlone(item));
  try {
    if (together.length > 0) await sendTogether(work, together, keep);
    for (const item of items) if (goesAlone(item) && unsent.has(item)) keep(item, await sendAlone(work, item));
  } catch (ended) {
    return { outcomes, unsent: [...unsent], ended };
  }
  return { outcomes, unsent: [...unsent] };
}

function goesAlone({ group, entry }: Item): boolean {
  return NOT_IN_XML.test(entry.key) || group.tries(entry) >= BATCH_TRIES;
}

type Keep = (item: Item, outcome: DeleteOutcome) => void;

async function sendTogether(work: EnforceWork, items: readonly Item[], keep: Keep): Promise<void> {
  const versions = items.map(({ entry: { key, versionId } }) => ({ key, versionId }));
  try {
    const outcomes = await deleting(work, items, () => work.deleter.deleteBatch(versions, work.hardSignal));
    for (const [index, item] of items.entries()) keep(item, outcomes[index] ?? { type: "unaccounted" });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (!error.retryable && !BY_ONE.has(error.code)) throw error;
    if (!error.retryable) for (const { group, entry } of items) group.skipTries(entry, BATCH_TRIES);
    // Of a batch that may succeed nothing is known; one that never will is sent in parts.
    else for (const item of items) keep(item, { type: "refused", code: error.code, retryable: true });
  }
}

async function sendAlone(work: EnforceWork, item: Item): Promise<DeleteOutcome> {
  const { key, versionId } = item.entry;
  try {
    return await deleting(work, [item], () => work.deleter.deleteOne({ key, versionId }, work.hardSignal));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (!error.retryable && !BY_ONE.has(error.code)) throw error;
    return { type: "refused", code: error.code, retryable: error.retryable };
  }
}

/** What is known of a version, or the manifests, have become too old while the call waited. */
export class StaleFacts extends Error {
  override readonly name = "StaleFacts";
}

/** The one way to a delete: everything that may forbid it is looked at right before it. */
function deleting<T>(work: EnforceWork, items: readonly Item[], call: () => Promise<T>): Promise<T> {
  return work.limiter.run(work.signal, () => {
    work.mayDelete();
    const now = work.timers.monotonic();
    if (work.manifests.stale || items.some((item) => isStale(item, now))) throw new StaleFacts();
    return call();
  });
}

/** Whether the store is to be asked again. A delete marker is known by the listing. */
export function isStale({ group, entry }: Item, now: number): boolean {
  const known = group.known.get(entry.versionId);
  return known !== undefined && now - known.askedAt > FACTS_AGE_MS;
}
