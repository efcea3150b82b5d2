import type { Count } from "../../custody/operations.ts";

/** Several counts as one. */
export function sumOf(counts: readonly Count[]): Count {
  return { count: counts.reduce((sum, { count }) => sum + count, 0), atLeast: counts.some(({ atLeast }) => atLeast) };
}

/** `12`, or `at least 12` where counting was given up. */
export function countText({ count, atLeast }: Count): string {
  return atLeast ? `at least ${count}` : String(count);
}
