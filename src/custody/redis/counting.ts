import { setTimeout as sleep } from "node:timers/promises";
import type { Count } from "../operations.ts";

/** Scripts of one count, and how long it may take, ms: what is more is not counted. */
const MOST_SCRIPTS = 100;
const WITHIN_MS = 2_000;
/** Between two steps, as a multiple of what one took, times the counts under way: together they take half of Redis's time at most. */
const REST = 2;

/** Counts under way in this process. */
let underWay = 0;

/** What one step found. */
export interface CountStep {
  readonly found: number;
  readonly scripts: number;
  readonly isEnd: boolean;
}

/** Counts step by step, to the end or up to a bound. */
export async function countInSteps(step: () => Promise<CountStep>): Promise<Count> {
  const end = performance.now() + WITHIN_MS;
  let [count, scripts] = [0, 0];
  underWay += 1;
  try {
    for (;;) {
      const began = performance.now();
      const done = await step();
      count += done.found;
      scripts += done.scripts;
      if (done.isEnd) return { count, atLeast: false };
      const restMs = REST * underWay * (performance.now() - began);
      if (scripts >= MOST_SCRIPTS || performance.now() + restMs >= end) return { count, atLeast: true };
      await sleep(restMs);
    }
  } finally {
    underWay -= 1;
  }
}
