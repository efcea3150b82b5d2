import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";

/** Long enough for a busy machine; what is measured is printed, not asserted. */
const TIMEOUT_MS = 120_000;
const INTERVAL_MS = 25;

/**
 * Waits until a value is as expected, or matches an asymmetric matcher. Unlike `expect.poll` it also works in concurrent tests and in hooks.
 * @throws AssertionError of the last look
 */
export async function becomes<T>(look: () => T | Promise<T>, expected: unknown, timeoutMs = TIMEOUT_MS): Promise<void> {
  for (const end = performance.now() + timeoutMs; ; await sleep(INTERVAL_MS)) {
    const value = await look();
    try {
      expect(value).toEqual(expected);
      return;
    } catch (error) {
      if (performance.now() >= end) throw error;
    }
  }
}

/** Of what follows from a change, nothing comes later than this after what came before it, ms. */
const SETTLED_MS = 4_000;

/**
 * Waits until a value has stayed the same for a while.
 * @throws AssertionError when it goes on changing
 */
export async function settled<T>(look: () => Promise<T>): Promise<T> {
  let last = await look();
  let since = performance.now();
  const isSettled = async () => {
    const value = await look();
    if (!isDeepStrictEqual(value, last)) [last, since] = [value, performance.now()];
    return performance.now() - since > SETTLED_MS;
  };
  await becomes(isSettled, true);
  return last;
}

/** Prints how long something took. */
export async function measured(what: string, doIt: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await doIt();
  process.stderr.write(`operator: ${what} took ${Math.round(performance.now() - startedAt)} ms\n`);
}
