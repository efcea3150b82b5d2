import { describe, expect, it } from "vitest";
import { wantsEventType } from "./destinations.ts";
import { redact } from "./redact.ts";

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

describe("redact", () => {
  it("takes credentials out of every URL and leaves the rest", () => {
    expect(redact("at redis://u:p@h:1 and https://tok@x/y?z=a@b, mail a@b.c")).toBe(
      "at redis://[redacted]@h:1 and https://[redacted]@x/y?z=a@b, mail a@b.c",
    );
  });

  it("takes the whole of a password that holds an @", () => {
    expect(redact("redis://u:p@ss@h:1/0")).toBe("redis://[redacted]@h:1/0");
  });
});
