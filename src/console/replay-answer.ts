import { type Replay, ReplayKeyReused } from "../custody/operations.ts";
import { isoTime } from "./filters.ts";
import { Refused } from "./refusals.ts";

/**
 * A replay as both listeners answer it.
 * @param filter its filter, in names that the caller may see
 */
export function progressAnswer(replay: Replay, filter: object): object {
  const { id, to, rate, state, total, totalAtLeast, replayed, scanned, createdAt, updatedAt } = replay;
  return {
    id,
    filter,
    to: isoTime(to),
    rate,
    state,
    total,
    totalAtLeast,
    replayed,
    scanned,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}

/** A new replay. @throws Refused 409 when its idempotency key belongs to another one */
export async function started<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof ReplayKeyReused)) throw error;
    const { replay } = error;
    throw new Refused("ReplayKeyReused", { fields: { replay } });
  }
}
