import { decidedGroups, plannedPages } from "./decide.ts";
import type { Position, ScopeWork } from "./scope-work.ts";
import { Tally, type TallyState } from "./tally.ts";

/** Goes through the whole listing: whether every page can be trusted, and how many deletes there may be at most. */
export async function surveyPass(work: ScopeWork, from: Position, tallied: TallyState): Promise<TallyState> {
  const tally = new Tally(tallied);
  let position = from;
  for await (const plans of plannedPages(work, from)) {
    for (const plan of plans) tally.surveyed(plan);
    position = { ...position, lastKey: plans.at(-1)?.group.key ?? position.lastKey };
    work.journal.moved(position, tally.state());
  }
  return tally.state();
}

/** Keys between two notes of how far an Inspect or Verify pass is. */
const NOTE_EVERY = 500;

/** Asks the store about everything that may be planned: what a run would delete now, exactly. */
export async function inspectPass(work: ScopeWork, from: Position, tallied: TallyState): Promise<TallyState> {
  const tally = new Tally(tallied, work.onOutcome);
  let seen = 0;
  for await (const { plan, decision } of decidedGroups(work, from)) {
    tally.inspected(plan, decision);
    if (decision.deletes.length > 0) work.onPlanned(decision.deletes);
    seen += 1;
    if (seen % NOTE_EVERY === 0) work.journal.moved({ ...from, lastKey: plan.group.key }, tally.state());
  }
  return tally.state();
}

/**
 * Looks whether anything is left that should have been deleted.
 * @param expected as many were refused, or held back by one that was
 * @returns whether there are more than that; it is known before the end
 */
export async function verifyPass(
  work: ScopeWork,
  from: Position,
  options: { readonly tallied: TallyState; readonly expected: number },
): Promise<boolean> {
  let found = 0;
  let seen = 0;
  for await (const { plan, decision } of decidedGroups(work, from)) {
    found += decision.deletes.length;
    if (found > options.expected) return true;
    seen += 1;
    // What was found is not kept: an attempt that goes on begins before it.
    if (found === 0 && seen % NOTE_EVERY === 0)
      work.journal.moved({ ...from, lastKey: plan.group.key }, options.tallied);
  }
  return false;
}
