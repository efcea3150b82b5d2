import { describe, expect, it } from "vitest";
import type { RetryPolicy } from "../routes/entry.ts";
import { attemptLine, codeClass, confirmedLine, gateLine } from "./narrative.ts";
import { decide, type FinishedAttempt } from "./retry-policy.ts";

const policy: RetryPolicy = {
  type: "schedule",
  delaysMs: [1_000, 5_000, 30_000],
  jitter: 0,
  giveUpAfterMs: 1e9,
  maxRetryAfterMs: 3_600_000,
  maxAgeMs: 1e10,
};

function line(result: FinishedAttempt, attempt = 3, used = attempt): string {
  const decision = decide(result, { used, firstAttemptAt: 0 }, policy, { now: 0, random: () => 0.5, timeoutMs: 1 });
  return attemptLine({ destination: "acme-eu", copy: { attempt }, result, decision, policy, now: 0 });
}
const status = (code: number, retryAfter?: string): FinishedAttempt => ({
  type: "response",
  status: code,
  head: "",
  durationMs: 1,
  ...(retryAfter !== undefined && { retryAfter }),
});

describe("the story of an attempt", () => {
  it.each([
    [status(429, "120"), "destination acme-eu returned 429; Retry-After 120 parsed; attempt 3 put back for 120 s"],
    [
      status(429, "7200"),
      "destination acme-eu returned 429; Retry-After 7200 parsed and cut to 3600 s; attempt 3 put back for 3600 s",
    ],
    [
      status(503, "2"),
      "destination acme-eu returned 503; Retry-After 2 parsed, the route's own delay is longer; attempt 3 put back for 30 s",
    ],
    [status(503, "soon"), 'destination acme-eu returned 503; Retry-After "soon" ignored; attempt 3 put back for 30 s'],
    [status(500), "destination acme-eu returned 500; attempt 3 put back for 30 s"],
    [status(404, "120"), "destination acme-eu returned 404; attempt 3 was the last, dead letter: Status404"],
    [status(204), "destination acme-eu returned 204; attempt 3 delivered"],
    [
      { type: "error", code: "ECONNREFUSED", durationMs: 1 },
      "destination acme-eu failed: ECONNREFUSED; attempt 3 put back for 30 s",
    ],
    [{ type: "handled", durationMs: 1 }, "destination acme-eu handled it; attempt 3 delivered"],
    [{ type: "runStarted", isNew: true, durationMs: 1 }, "destination acme-eu made a run; attempt 3 delivered"],
    [
      { type: "runStarted", isNew: false, durationMs: 1 },
      "destination acme-eu had the run already; attempt 3 delivered",
    ],
    [
      { type: "runRefused", reason: "RunConflict", detail: "it asks for more", durationMs: 1 },
      "destination acme-eu failed: RunConflict: it asks for more; attempt 3 was the last, dead letter: RunConflict",
    ],
  ] satisfies [FinishedAttempt, string][])("%j", (result, expected) => {
    expect(line(result)).toBe(expected);
  });

  it("says what became of the original, and of the others", () => {
    expect(confirmedLine(true)).toBe("original released after confirmation; others continued");
    expect(confirmedLine(false)).toBe("original released after confirmation");
  });

  it("sorts statuses into classes, and strange ones into none", () => {
    expect([codeClass({ status: 204 }), codeClass({ status: 503 }), codeClass({ status: 700 }), codeClass({})]).toEqual(
      ["2xx", "5xx", "none", "none"],
    );
  });
});

describe("the line about a gate", () => {
  it("says what it is now, for how long, and why", () => {
    const at = Date.UTC(2026, 10, 30);
    const change = {
      destination: "~acme",
      at,
      generation: 4,
      consecutiveFailures: 5,
      failingSince: at - 60_000,
    } as const;
    const opened = gateLine({
      ...change,
      from: "Closed",
      to: "Open",
      reason: "ConsecutiveFailures",
      until: at + 30_000,
    });
    expect(opened).toBe(
      "destination ~acme is Open for 30 s (was Closed): it failed too often in a row; 5 attempts in a row without success",
    );
    const enabled = gateLine({
      ...change,
      consecutiveFailures: 0,
      from: "Disabled",
      to: "Closed",
      reason: "OperatorEnabled",
    });
    expect(enabled).toBe("destination ~acme is Closed (was Disabled): enabled by an operator");
  });
});
