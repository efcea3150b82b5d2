import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ManualTimers } from "../lib/testing.ts";
import { sleep } from "../lib/timers.ts";
import { OLD, World } from "./run/testing.ts";
import { StoreError, type StoreErrorReason } from "./store/port.ts";
import type { StoreCall } from "./testing/memory-store.ts";

const GOOD = Array.from({ length: 10 }, (_, index) => `good-${index}`);
const BAD = "bad";
/** Of each scope: a run makes 13 calls one after the other. */
const KEYS = 40;
/** Of every call of a good scope, ms: so a run takes six seconds, a tenth of the time after which a call is given up. */
const CALL_MS = 500;
const STEP_MS = 100;
/** Far beyond what they take. */
const LONGEST_MS = 3_600_000;

/** How every call of the bad scope fails, and after how many ms. */
interface Failing {
  readonly code: StoreErrorReason;
  readonly afterMs: number;
}

// Pauses are the longest that they can be.
beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(1));
afterEach(() => vi.restoreAllMocks());

/** Ten scopes, beside another one that always fails or alone, over a store whose calls take a time that nothing but the calls moves. @returns ms until the ten are done */
async function timeOfTen(failing?: Failing): Promise<number> {
  const timers = new ManualTimers();
  const world = new World(timers);
  world.store.faults.before = async (call) => {
    if (failing === undefined || !isOf(BAD, call)) return sleep(timers, CALL_MS);
    await sleep(timers, failing.afterMs);
    throw new StoreError(failing.code, "as ever", { retryable: true });
  };
  // The one that fails came first: it is begun before all others, each time.
  for (const [index, scope] of [...(failing ? [BAD] : []), ...GOOD].entries()) {
    for (let key = 0; key < KEYS; key += 1) world.store.put(`warehouses/${scope}/k${key}`, { at: OLD });
    world.addRun({ name: scope, scope, receivedAt: index, snapshot: { batchSize: 10, maxAttempts: 1_000 } });
  }
  const runner = world.runner();
  runner.start();
  const areDone = () => GOOD.every((scope) => world.status(scope).phase === "Succeeded");
  while (!areDone() && timers.monotonic() < LONGEST_MS) await timers.advance(STEP_MS);
  expect(areDone()).toBe(true);
  const took = timers.monotonic();
  const hasFailed = () => failing === undefined || world.status(BAD).lastError !== undefined;
  while (!hasFailed() && timers.monotonic() < LONGEST_MS) await timers.advance(STEP_MS);
  expect(failing && world.status(BAD).lastError?.reason).toBe(failing?.code);
  const stopped = runner.stop();
  await timers.advance(LONGEST_MS);
  await stopped;
  return took;
}

function isOf(scope: string, { prefix, key, versions }: StoreCall): boolean {
  const about = prefix ?? key ?? versions?.[0]?.key;
  return about?.startsWith(`warehouses/${scope}/`) === true;
}

describe("ten scopes take at most 1.2 times as long as alone beside one", () => {
  test.each<[string, Failing]>([
    ["whose store cannot be reached", { code: "Unreachable", afterMs: 0 }],
    ["whose store is always too busy", { code: "SlowDown", afterMs: 50 }],
    ["whose store does not answer", { code: "Timeout", afterMs: 60_000 }],
  ])("%s", async (_name, failing) => {
    const alone = await timeOfTen();
    expect((await timeOfTen(failing)) / alone).toBeLessThanOrEqual(1.2);
  });
});
