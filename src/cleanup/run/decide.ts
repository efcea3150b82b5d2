import { decideGroup } from "../plan/decide-group.ts";
import { planGroup } from "../plan/plan-group.ts";
import type { GroupPlan, KeyGroup, VersionFacts } from "../plan/types.ts";
import type { VersionEntry } from "../store/port.ts";
import type { Known, KnownFacts } from "./facts.ts";
import type { DecidedGroup, GroupWork } from "./group-work.ts";
import { keyGroups } from "./listing.ts";
import { mapAhead } from "./map-ahead.ts";
import { factRules, type Position, type ScopeWork } from "./scope-work.ts";

/** What the store said of a version is asked again when it is older than this before the version is deleted, ms. */
export const FACTS_AGE_MS = 60_000;

/** Versions asked about side by side at least, while those of the next batches are known. */
const SLOWEST = 2;

const NOTHING_KNOWN: Known = new Map();

/** Groups by the listing alone, those of a page together. Manifests are read again when they are due. */
export async function* plannedPages(work: ScopeWork, { lastKey }: Position): AsyncGenerator<readonly GroupPlan[]> {
  const { store, limiter, signal, snapshot, listing } = work;
  for await (const groups of keyGroups({ store, limiter, signal, prefix: snapshot.prefix, after: lastKey })) {
    await work.manifests.refresh(signal);
    yield groups.map((group) => planGroup(group, listing));
  }
}

/** Groups in their order, decided by what the store says of their candidates; the next ones are asked about meanwhile. */
export function decidedGroups(work: ScopeWork, position: Position): AsyncGenerator<DecidedGroup> {
  const { limiter, snapshot, batchesAtOnce } = work;
  const atOnce = snapshot.batchSize * batchesAtOnce;
  return mapAhead(singly(plannedPages(work, position)), {
    weight: ({ candidates, group }) => candidates.length + (1 + group.entries.length) / 50,
    // So many candidates that the next batches are ready when those before are done, so few that what is known of them is fresh.
    most: atOnce * 2,
    // As many as there are places, and some that wait for one. The nearer the next batches are to being known, the fewer: the deletes under way have the store to themselves.
    pace: (known) => Math.max(SLOWEST, 2 * limiter.window * (1 - known / atOnce)),
    map: (plan) => decide(work, plan, NOTHING_KNOWN),
  });
}

async function* singly<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page;
}

/**
 * Decides again about what is left of a key, by manifests and facts as they are now.
 * @param ask versions to be asked about again whatever is known
 */
export async function decideAgain(work: ScopeWork, group: GroupWork, ask: readonly VersionEntry[]): Promise<void> {
  const left: KeyGroup = { key: group.key, entries: group.left };
  const known = new Map(group.known);
  for (const { versionId } of ask) known.delete(versionId);
  const again = await decide(work, planGroup(left, work.listing), known);
  group.decide(again.decision, again.known);
}

async function decide(work: ScopeWork, plan: GroupPlan, known: Known): Promise<DecidedGroup> {
  const unknown = plan.candidates.filter(({ versionId }) => !known.has(versionId));
  const asked: Known = unknown.length === 0 ? NOTHING_KNOWN : await work.facts.read(unknown, work.signal);
  const all = known.size === 0 ? asked : new Map<string, KnownFacts>([...known, ...asked]);
  const facts = new Map<string, VersionFacts>();
  for (const [versionId, one] of all) facts.set(versionId, one.facts);
  return { plan, decision: decideGroup(plan, facts, factRules(work)), known: all };
}
