import { describe, expect, it } from "vitest";
import type { RetryPolicy } from "../routes/entry.ts";
import { decide, type Decision, type FinishedAttempt } from "./retry-policy.ts";

const START = Date.UTC(2026, 0, 15, 12, 0, 0);
const DAY = 86_400_000;
const bounds = { giveUpAfterMs: 3 * DAY, maxRetryAfterMs: 7 * DAY, maxAgeMs: 30 * DAY };
const schedule: RetryPolicy = { type: "schedule", delaysMs: [1_000, 5_000, 30_000], jitter: 0, ...bounds };
const backoff: RetryPolicy = {
  type: "backoff",
  initialMs: 5_000,
  factor: 4,
  maxMs: 36_000_000,
  jitter: false,
  maxAttempts: 9,
  ...bounds,
};

/** Everything that is decided about a copy whose destination always answers the same, until it is final. */
function life(result: FinishedAttempt, policy: RetryPolicy): readonly Decision[] {
  const decisions: Decision[] = [];
  let now = START;
  for (let used = 1; used <= 100; used++) {
    const decision = decide(result, { used, firstAttemptAt: START }, policy, {
      now,
      random: () => 0.5,
      timeoutMs: 15_000,
    });
    decisions.push(decision);
    if (decision.outcome !== "retry") return decisions;
    now += decision.delayMs;
  }
  throw new Error("it never ends");
}

const answer = (status: number, retryAfter?: string): FinishedAttempt => ({
  type: "response",
  status,
  head: "",
  durationMs: 1,
  ...(retryAfter !== undefined && { retryAfter }),
});
const delays = (decisions: readonly Decision[]): number[] =>
  decisions.flatMap((decision) => (decision.outcome === "retry" ? [decision.delayMs] : []));

describe("a destination that never accepts", () => {
  it.each([
    ["a schedule", schedule, [1_000, 5_000, 30_000]],
    ["a backoff", backoff, [5_000, 20_000, 80_000, 320_000, 1_280_000, 5_120_000, 20_480_000, 36_000_000]],
  ] as const)("makes a dead letter after its attempts, 429 with Retry-After: 1 or not, by %s", (_, policy, own) => {
    for (const hint of [undefined, "1"]) {
      const decisions = life(answer(429, hint), policy);
      expect(delays(decisions)).toEqual(own);
      expect(decisions.at(-1)).toEqual({ outcome: "dead", reason: "AttemptsExhausted" });
    }
  });

  it.each([
    "0",
    "-1",
    "1.5",
    "120junk",
    "junk",
    "1e9",
    "0x10",
    "Thu, 15 Jan 2025 11:00:00 GMT",
    "2026-01-15T13:00:00Z",
  ])("goes by its schedule when it says Retry-After: %s", (hint) => {
    expect(life(answer(503, hint), schedule)).toEqual(life(answer(503), schedule));
  });

  it.each(["Fri, 31 Dec 9999 23:59:59 GMT", "99999999999999999999"])(
    "is asked every 7 days and no later when it says Retry-After: %s, until its attempts are used up",
    (hint) => {
      const decisions = life(answer(429, hint), schedule);
      expect(delays(decisions)).toEqual([7 * DAY, 7 * DAY, 7 * DAY]);
      expect(decisions.at(-1)).toEqual({ outcome: "dead", reason: "AttemptsExhausted" });
    },
  );

  it("keeps the reason when it was never reached because its address is not allowed", () => {
    const refused: FinishedAttempt = { type: "error", code: "AddressNotAllowed", durationMs: 1 };
    const decisions = life(refused, schedule);
    expect(delays(decisions)).toEqual([1_000, 5_000, 30_000]);
    expect(decisions.at(-1)).toEqual({ outcome: "dead", reason: "AddressNotAllowed" });
    expect(life(refused, { ...schedule, giveUpAfterMs: 3_000 }).at(-1)).toEqual({
      outcome: "dead",
      reason: "AddressNotAllowed",
    });
  });
});
