import { describe, expect, it } from "vitest";
import type { AttemptRecord, CopyView, EventView } from "../custody/port.ts";
import { eventStory, stateOf } from "./event-story.ts";

const AT = Date.UTC(2026, 0, 2, 3, 4, 5);
const NAMES = { routeName: () => "shop/stripe", destinationName: () => "shop/stripe/orders" };

function event(...copies: readonly Partial<CopyView>[]): EventView {
  return {
    id: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    route: "0011223344556677",
    receivedAt: AT,
    sequence: 1,
    eventType: "invoice.paid",
    duplicates: 2,
    bodyBytes: 12,
    copies: copies.map((copy) => ({ destination: "0011223344556677/orders", state: "waiting", attempts: [], ...copy })),
  };
}

function attempt(number: number, rest: Partial<AttemptRecord>): AttemptRecord {
  return { attempt: number, at: AT + number * 1_000, durationMs: 7, action: "retry", ...rest };
}

describe("eventStory", () => {
  it("tells acceptance, duplicates, each attempt and the final state", () => {
    const attempts = [
      attempt(1, { status: 503, delayMs: 120_000, delaySource: "retry_after" }),
      attempt(2, { error: "ECONNREFUSED", action: "dead", reason: "AttemptsExhausted" }),
      attempt(3, { status: 200, action: "delivered" }),
    ];
    expect(eventStory(event({ state: "delivered", attempts }), NAMES, AT)).toEqual([
      "event 01ARZ3NDEKTSV4RRFFQ69G5FAV, route shop/stripe",
      "2026-01-02 03:04:05.000Z  accepted (invoice.paid), body 12 bytes",
      "duplicates: 2",
      "",
      "destination shop/stripe/orders: delivered",
      "  2026-01-02 03:04:06.000Z  attempt 1  answered 503 after 7 ms; put back for 120 s by Retry-After",
      "  2026-01-02 03:04:07.000Z  attempt 2  ECONNREFUSED after 7 ms; dead letter: AttemptsExhausted",
      "  made live again",
      "  2026-01-02 03:04:08.000Z  attempt 3  answered 200 after 7 ms; delivered",
    ]);
  });

  it("says when the next attempt is, and what a lost worker left", () => {
    const lines = eventStory(
      event({ state: "delayed", dueAt: AT + 90_000, attempts: [attempt(1, { action: "unknown" })] }),
      NAMES,
      AT,
    );
    expect(lines[4]).toBe(
      "destination shop/stripe/orders: delayed, next attempt at 2026-01-02 03:05:35.000Z (in 90 s)",
    );
    expect(lines[5]).toContain("outcome unknown: its worker was lost");
  });

  it("says why a copy is dead", () => {
    const attempts = [attempt(1, { status: 404, action: "dead", reason: "Status404" })];
    expect(eventStory(event({ state: "dead", attempts }), NAMES, AT)[4]).toContain("dead letter (Status404)");
  });
});

describe("stateOf", () => {
  it("is one word when all copies agree, else a count of each", () => {
    expect(stateOf(event({ state: "dead" }, { state: "dead" }))).toBe("dead");
    expect(stateOf(event({ state: "dead" }, { state: "delivered" }, { state: "delivered" }))).toBe(
      "1 dead, 2 delivered",
    );
    expect(stateOf(event())).toBe("ignored");
  });
});
