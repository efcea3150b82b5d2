/** Most settles and most copies taken in one turn, and the copies one ticket lets a process have in flight (`custody.md` §2, §3). */
export const BATCH = 64;

/** A destination that may have something to take. */
export interface Candidate {
  /** Copies it may have in flight beyond those it has. */
  readonly room: number;
  /** Its oldest running request is older than {@link SLOW_AFTER_MS}. */
  readonly slow: boolean;
}

export interface Budget {
  /** Request slots of the process that nothing holds. */
  readonly free: number;
  /** What slow destinations together may still take, see {@link slowBudget}. */
  readonly freeForSlow: number;
}

export const SLOW_AFTER_MS = 1_000;

/** Copies a process may have in flight for a destination: 64 a ticket it holds, never more than the destination's limit. */
export function permits(tickets: number, limit: number): number {
  return Math.min(BATCH * tickets, limit);
}

/** Tickets that a destination's lane deserves, at least 1. */
export function ticketsFor(copies: number, limit: number): number {
  return Math.max(1, Math.ceil(Math.min(copies, limit) / BATCH));
}

/** Slow destinations together hold at most half of the slots, so that a hanging one leaves room for the others. */
export function slowBudget(slots: number, heldBySlow: number): number {
  return Math.max(0, Math.floor(slots / 2) - heldBySlow);
}

/**
 * How many copies to take for each destination in one turn: one slot each in the order given, then a second one, until slots or the turn are full.
 * A destination that gets nothing must stay a candidate: it is served once a slot is free.
 *
 * @param candidates in the order of their turn; only as many are read as can be served
 * @returns only those that get something
 */
export function allocate<C extends Candidate>(candidates: Iterable<C>, budget: Budget): Map<C, number> {
  const shares = new Map<C, number>();
  let left = Math.min(BATCH, budget.free);
  let leftForSlow = budget.freeForSlow;
  const grant = (candidate: C, held: number): void => {
    if (held >= candidate.room || (candidate.slow && leftForSlow < 1)) return;
    shares.set(candidate, held + 1);
    left -= 1;
    if (candidate.slow) leftForSlow -= 1;
  };
  if (left < 1) return shares;
  for (const candidate of candidates) {
    grant(candidate, 0);
    if (left < 1) return shares;
  }
  for (let before = 0; before !== left; ) {
    before = left;
    for (const [candidate, held] of shares) {
      if (left > 0) grant(candidate, held);
    }
  }
  return shares;
}
