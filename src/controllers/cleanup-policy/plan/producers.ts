import { groupBy } from "../../../lib/group-by.ts";
import { receivedAt, type RunView } from "./views.ts";

const DAY_MS = 86_400_000;

/** Who else asks for runs, as a sentence; `undefined`: it seems to be one producer only. */
export type Producers = { readonly reason: "ScheduleAndPush" | "SeveralPushes"; readonly message: string } | undefined;

/**
 * Whether more than one producer seems to ask for runs: a schedule and pushes, or pushes with different run ids for one scope closer than half a period, which is
 * what two producers come to whatever their phase. Only runs of the last two periods count. A warning: two producers delete nothing twice.
 *
 * @param intervalMs between two times of the schedule; absent: none. The period is the shorter of this and a day
 */
export function producersOf(runs: readonly RunView[], intervalMs: number | undefined, now: number): Producers {
  const periodMs = Math.min(intervalMs ?? DAY_MS, DAY_MS);
  const pushed = runs.filter((run) => run.spec.trigger === "Push" && now - receivedAt(run) < 2 * periodMs);
  const [first] = pushed;
  if (first === undefined) return undefined;
  if (intervalMs !== undefined) {
    return {
      reason: "ScheduleAndPush",
      message: "the policy has a schedule, and runs are pushed as well: stop one of the two producers",
    };
  }
  const crowded = [...groupBy(pushed, ({ spec }) => spec.scope)].find(([, ones]) => isCrowded(ones, periodMs / 2));
  if (crowded === undefined) return undefined;
  return {
    reason: "SeveralPushes",
    message: `runs of scope ${crowded[0]} with different ids are pushed closer than half a period: look whether two producers push them`,
  };
}

function isCrowded(runs: readonly RunView[], gapMs: number): boolean {
  const times = runs.map(receivedAt).toSorted((a, b) => a - b);
  return times.some((at, index) => at - (times[index - 1] ?? Number.NEGATIVE_INFINITY) < gapMs);
}
