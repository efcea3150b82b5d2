import type { DestinationEntry } from "../routes/entry.ts";
import type { Attempt } from "./attempt.ts";

/** How copies are carried to each type of target. */
export type AttemptsByTarget = Readonly<Partial<Record<DestinationEntry["target"]["type"], Attempt>>>;

/** An attempt of the type of each destination's target. One that is not among them, also of a later version, is tried again. */
export function attemptByTarget(attempts: AttemptsByTarget): Attempt {
  const byType = new Map(Object.entries(attempts));
  return async (copy, destination, context) => {
    const attempt = byType.get(destination.entry.target.type);
    return attempt ? attempt(copy, destination, context) : { type: "error", code: "no_handler", durationMs: 0 };
  };
}
