import { describe, expect, it } from "vitest";
import { gateEffect } from "./gate-effect.ts";
import type { FinishedAttempt } from "./retry-policy.ts";

const NOW = Date.UTC(2026, 10, 30);
const status = (code: number, retryAfter?: string): FinishedAttempt => ({
  type: "response",
  status: code,
  head: "",
  durationMs: 5,
  ...(retryAfter !== undefined && { retryAfter }),
});

describe("what an attempt says about its destination", () => {
  it.each([200, 201, 204, 299])("%d: it works", (code) => {
    expect(gateEffect(status(code), NOW)).toEqual({ type: "success" });
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 599])("%d without a hint: it fails", (code) => {
    expect(gateEffect(status(code), NOW)).toEqual({ type: "failure" });
  });

  it.each([300, 301, 302, 308, 400, 401, 403, 404, 422, 451, 600])("%d: it refused this message", (code) => {
    expect(gateEffect(status(code, "120"), NOW)).toEqual({ type: "rejected" });
  });

  it("a run says that it works, and one that was refused that only this message is wrong", () => {
    expect(gateEffect({ type: "runStarted", isNew: true, durationMs: 1 }, NOW)).toEqual({ type: "success" });
    const refused = { type: "runRefused", reason: "InvalidRunRequest", detail: "d", durationMs: 1 } as const;
    expect(gateEffect(refused, NOW)).toEqual({ type: "rejected" });
  });

  it("410: it is gone", () => {
    expect(gateEffect(status(410, "120"), NOW)).toEqual({ type: "gone" });
  });

  it.each([429, 503])("%d with Retry-After: it asks for a pause, in seconds or until a date", (code) => {
    expect(gateEffect(status(code, "120"), NOW)).toEqual({ type: "hold", holdMs: 120_000 });
    const date = new Date(NOW + 30_000).toUTCString();
    expect(gateEffect(status(code, date), NOW)).toEqual({ type: "hold", holdMs: 30_000 });
  });

  it.each(["0", "-1", "1.5", "120junk", "", "Mon, 30 Nov 1998 00:00:00 GMT"])(
    "Retry-After %j holds nothing",
    (hint) => {
      expect(gateEffect(status(429, hint), NOW)).toEqual({ type: "failure" });
    },
  );

  it("500 with Retry-After speaks of that message only", () => {
    expect(gateEffect(status(500, "120"), NOW)).toEqual({ type: "failure" });
  });

  it("errors without a response are failures, a fault of this process says nothing", () => {
    const error = (code: string): FinishedAttempt => ({ type: "error", code, durationMs: 1 });
    expect(["timeout", "ECONNREFUSED", "internal_error"].map((code) => gateEffect(error(code), NOW).type)).toEqual([
      "failure",
      "failure",
      "neutral",
    ]);
  });

  it("a handler that gives up for good refused the message, one that throws failed", () => {
    const thrown = (permanent: boolean): FinishedAttempt => ({
      type: "handlerError",
      code: "Error",
      detail: "",
      permanent,
      durationMs: 1,
    });
    expect(
      [thrown(true), thrown(false), { type: "handled", durationMs: 1 } as const].map(
        (one) => gateEffect(one, NOW).type,
      ),
    ).toEqual(["rejected", "failure", "success"]);
  });
});
