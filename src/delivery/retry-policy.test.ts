import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RetryPolicy } from "../routes/entry.ts";
import { decide, type Decision, type DecisionContext, type FinishedAttempt, maxAttempts } from "./retry-policy.ts";

const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
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
const context: DecisionContext = { now: NOW, random: () => 0.5, timeoutMs: 15_000 };
const first = { used: 1, firstAttemptAt: NOW };

const status = (code: number, retryAfter?: string): FinishedAttempt => ({
  type: "response",
  status: code,
  head: "",
  durationMs: 1,
  ...(retryAfter !== undefined && { retryAfter }),
});
const error = (code: string): FinishedAttempt => ({ type: "error", code, durationMs: 1 });

const anyPolicy: fc.Arbitrary<RetryPolicy> = fc.oneof(
  fc.record({
    type: fc.constant("schedule" as const),
    delaysMs: fc.array(fc.integer({ min: 0, max: 2 * DAY }), { minLength: 1, maxLength: 20 }),
    jitter: fc.constantFrom(0, 0.1, 1),
    giveUpAfterMs: fc.integer({ min: 0, max: 7 * DAY }),
    maxRetryAfterMs: fc.integer({ min: 0, max: 20 * DAY }),
    maxAgeMs: fc.constant(30 * DAY),
  }),
  fc.record({
    type: fc.constant("backoff" as const),
    initialMs: fc.integer({ min: 0, max: DAY }),
    factor: fc.integer({ min: 1, max: 10 }),
    maxMs: fc.integer({ min: 0, max: 2 * DAY }),
    jitter: fc.boolean(),
    maxAttempts: fc.integer({ min: 1, max: 100 }),
    giveUpAfterMs: fc.integer({ min: 0, max: 7 * DAY }),
    maxRetryAfterMs: fc.integer({ min: 0, max: 20 * DAY }),
    maxAgeMs: fc.constant(30 * DAY),
  }),
);
const delayOf = (decision: Decision): number => (decision.outcome === "retry" ? decision.delayMs : Number.NaN);
const random01 = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("what is tried again", () => {
  it.each([200, 201, 202, 204, 206, 299])("takes %d for success", (code) => {
    expect(decide(status(code), first, schedule, context)).toEqual({ outcome: "delivered" });
  });

  it("takes a run that is there for success, and one that never can be for a dead letter with its reason", () => {
    const started = { type: "runStarted", isNew: false, durationMs: 1 } as const;
    expect(decide(started, first, schedule, context)).toEqual({ outcome: "delivered" });
    const refused = { type: "runRefused", reason: "RunConflict", detail: "d", durationMs: 1 } as const;
    expect(decide(refused, first, schedule, context)).toEqual({ outcome: "dead", reason: "RunConflict" });
    expect(decide(error("policy_not_found"), first, schedule, context)).toMatchObject({ outcome: "retry" });
  });

  it("takes a handler that returned for success", () => {
    expect(decide({ type: "handled", durationMs: 1 }, first, schedule, context)).toEqual({ outcome: "delivered" });
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 599])("retries %d", (code) => {
    expect(decide(status(code), first, schedule, context).outcome).toBe("retry");
  });

  it.each([300, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 422, 451, 600])("is dead at once on %d", (code) => {
    expect(decide(status(code, "120"), first, schedule, context)).toEqual({ outcome: "dead", reason: `Status${code}` });
  });

  it.each([
    "timeout",
    "connect_timeout",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "CERT_HAS_EXPIRED",
    "AddressNotAllowed",
  ])("retries %s", (code) => {
    expect(decide(error(code), first, schedule, context).outcome).toBe("retry");
  });

  it("retries a handler that threw, unless it said that trying again cannot help", () => {
    const threw = { type: "handlerError", code: "Error", detail: "", durationMs: 1 } as const;
    expect(decide({ ...threw, permanent: false }, first, schedule, context).outcome).toBe("retry");
    expect(decide({ ...threw, permanent: true }, first, schedule, context)).toEqual({
      outcome: "dead",
      reason: "Unrecoverable",
    });
  });
});

describe("when the next attempt is", () => {
  it("follows the schedule and is dead on the 4th failure of three delays", () => {
    const decisions = [1, 2, 3, 4].map((used) => decide(status(500), { used, firstAttemptAt: NOW }, schedule, context));
    expect(decisions).toEqual([
      { outcome: "retry", delayMs: 1_000, delaySource: "schedule" },
      { outcome: "retry", delayMs: 5_000, delaySource: "schedule" },
      { outcome: "retry", delayMs: 30_000, delaySource: "schedule" },
      { outcome: "dead", reason: "AttemptsExhausted" },
    ]);
  });

  it("spreads a schedule by its jitter, both ways", () => {
    const jittered = { ...schedule, jitter: 0.1 };
    const delays = [0, 0.5, 0.999_999].map((r) =>
      decide(status(500), { used: 3, firstAttemptAt: NOW }, jittered, { ...context, random: () => r }),
    );
    expect(delays.map((d) => d.outcome === "retry" && d.delayMs)).toEqual([27_000, 30_000, 33_000]);
  });

  it("grows a backoff by its factor up to its maximum, and stops at maxAttempts", () => {
    const delays = [1, 2, 3, 4, 7, 8].map((used) =>
      decide(status(500), { used, firstAttemptAt: NOW }, backoff, context),
    );
    expect(delays.map((d) => d.outcome === "retry" && d.delayMs)).toEqual([
      5_000, 20_000, 80_000, 320_000, 20_480_000, 36_000_000,
    ]);
    expect(decide(status(500), { used: 9, firstAttemptAt: NOW }, backoff, context)).toEqual({
      outcome: "dead",
      reason: "AttemptsExhausted",
    });
  });

  it("draws a delay with full jitter from the whole range", () => {
    const jittered = { ...backoff, jitter: true };
    expect(decide(status(500), first, jittered, { ...context, random: () => 0.5 })).toMatchObject({
      delayMs: 2_500,
      delaySource: "backoff",
    });
  });

  it("waits for a Retry-After that is longer, and keeps the schedule when it is shorter, 0 or junk", () => {
    expect(decide(status(429, "120"), first, schedule, context)).toEqual({
      outcome: "retry",
      delayMs: 120_000,
      delaySource: "retry_after",
    });
    expect(decide(status(503, "Thu, 15 Jan 2026 12:02:00 GMT"), first, schedule, context)).toMatchObject({
      delayMs: 120_000,
    });
    for (const hint of ["0", "1", "-1", "1.5", "120junk", "", "Thu, 15 Jan 2026 11:00:00 GMT"]) {
      expect(decide(status(429, hint), first, schedule, context)).toEqual({
        outcome: "retry",
        delayMs: 1_000,
        delaySource: "schedule",
      });
    }
  });

  it("cuts a hint at maxRetryAfter and at 604,800 s", () => {
    expect(decide(status(429, "9999"), first, { ...schedule, maxRetryAfterMs: 60_000 }, context)).toMatchObject({
      delayMs: 60_000,
    });
    const wide = { ...schedule, maxRetryAfterMs: 20 * DAY };
    expect(decide(status(429, "9999999"), first, wide, context)).toMatchObject({ delayMs: 604_800_000 });
  });

  it("never makes a hot loop of a delay of 0", () => {
    const zero = { ...schedule, delaysMs: [0, 0] };
    expect(decide(status(429, "0"), first, zero, context)).toMatchObject({ delayMs: 1_000 });
    expect(
      decide(status(500), first, { ...backoff, jitter: true }, { ...context, random: () => 0.000_1 }),
    ).toMatchObject({ delayMs: 100 });
  });
});

describe("when it gives up", () => {
  const late = { used: 1, firstAttemptAt: NOW - 3 * DAY + 60_000 };

  it("gives up when the next attempt would be after giveUpAfter", () => {
    const slow = { ...schedule, delaysMs: [60_001] };
    expect(decide(status(500), late, slow, context)).toEqual({ outcome: "dead", reason: "GiveUpAfter" });
    expect(decide(status(500), late, { ...slow, delaysMs: [60_000] }, context).outcome).toBe("retry");
  });

  it.each([undefined, "0", "junk"])(
    "gives up when its time is over, however soon the next attempt would be, Retry-After: %s",
    (hint) => {
      const over = { used: 1, firstAttemptAt: NOW - 3 * DAY - 1 };
      expect(decide(status(503, hint), over, schedule, context)).toEqual({ outcome: "dead", reason: "GiveUpAfter" });
    },
  );

  it("moves the deadline for a Retry-After that ends after it", () => {
    expect(decide(status(429, "3600"), late, schedule, context)).toMatchObject({
      outcome: "retry",
      delayMs: 3_600_000,
    });
  });

  it("moves the deadline by one attempt only: a schedule that ends later still gives up", () => {
    const slow = { ...schedule, delaysMs: [3_616_000] };
    expect(decide(status(429, "3600"), late, slow, context)).toEqual({ outcome: "dead", reason: "GiveUpAfter" });
    expect(decide(status(429, "3600"), late, { ...slow, delaysMs: [3_614_000] }, context).outcome).toBe("retry");
  });

  it("counts an attempt whose answer carried a hint like any other", () => {
    expect(decide(status(429, "120"), { used: 4, firstAttemptAt: NOW }, schedule, context)).toEqual({
      outcome: "dead",
      reason: "AttemptsExhausted",
    });
  });
});

describe("for every policy", () => {
  it("waits between 100 ms and the longer of own maximum and clamp, in whole ms", () => {
    fc.assert(
      fc.property(
        anyPolicy,
        random01,
        fc.option(fc.nat().map(String), { nil: undefined }),
        fc.integer({ min: 1, max: 120 }),
        (policy, r, hint, used) => {
          const decision = decide(status(503, hint), { used, firstAttemptAt: NOW }, policy, {
            ...context,
            random: () => r,
          });
          if (decision.outcome !== "retry") return;
          const own = policy.type === "schedule" ? 2 * Math.max(...policy.delaysMs) : policy.maxMs;
          expect(decision.delayMs).toBeGreaterThanOrEqual(100);
          expect(decision.delayMs).toBeLessThanOrEqual(Math.max(1_000, own, 604_800_000));
          expect(Number.isInteger(decision.delayMs)).toBe(true);
        },
      ),
    );
  });

  it("is never made earlier by a hint", () => {
    fc.assert(
      fc.property(anyPolicy, random01, fc.nat({ max: 1_000_000 }), (policy, r, hint) => {
        const drawn = { ...context, random: () => r };
        const without = decide(status(503), first, policy, drawn);
        const withHint = decide(status(503, String(hint)), first, policy, drawn);
        fc.pre(without.outcome === "retry" && withHint.outcome === "retry");
        expect(delayOf(withHint)).toBeGreaterThanOrEqual(delayOf(without));
      }),
    );
  });

  it("ends after at most maxAttempts failures, whatever the answers say", () => {
    fc.assert(
      fc.property(anyPolicy, random01, fc.constantFrom("0", "5", "999999999", "junk"), (policy, r, hint) => {
        let now = NOW;
        for (let used = 1; ; used++) {
          const decision = decide(status(429, hint), { used, firstAttemptAt: NOW }, policy, {
            ...context,
            now,
            random: () => r,
          });
          expect(used).toBeLessThanOrEqual(maxAttempts(policy));
          if (decision.outcome !== "retry") return;
          now += decision.delayMs;
        }
      }),
    );
  });
});
