import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

/** Long enough for a busy machine; what is measured is printed, not asserted. */
const TIMEOUT_MS = 120_000;
const INTERVAL_MS = 25;

/**
 * Waits until a value is as expected, or matches an asymmetric matcher. Unlike `expect.poll` it also works in concurrent tests and in hooks.
 * @throws AssertionError of the last look
 */
export async function becomes<T>(look: () => T | Promise<T>, expected: unknown, timeoutMs = TIMEOUT_MS): Promise<void> {
  for (const end = Date.now() + timeoutMs; ; await sleep(INTERVAL_MS)) {
    const value = await look();
    try {
      expect(value).toEqual(expected);
      return;
    } catch (error) {
      if (Date.now() >= end) throw error;
    }
  }
}

/** Prints how long something took. */
export async function measured(what: string, doIt: () => Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await doIt();
  process.stderr.write(`operator: ${what} took ${Math.round(performance.now() - startedAt)} ms\n`);
}
