import { describe, expect, it } from "vitest";
import { wantsEventType } from "./event-types.ts";

describe("wantsEventType", () => {
  it.each([
    [[], undefined, true],
    [[], "order.created", true],
    [["order.*"], "order.created", true],
    [["order.*"], "orders.created", false],
    [["order.created"], "order.created", true],
    [["order.created"], "order.created.v2", false],
    [["*"], "anything", true],
    [["order.*"], undefined, false],
    [["invoice.paid", "order.*"], "order.x", true],
  ] as const)("%j wants %s: %s", (patterns, type, expected) => {
    expect(wantsEventType(patterns, type)).toBe(expected);
  });
});
