import { describe, expect, it } from "vitest";
import { readEnvelope } from "./envelope.ts";

const GOOD = { type: "order.paid", data: {} };

describe("an event's envelope", () => {
  it("needs type and data only, and may hold fields of the producer's own", () => {
    expect(readEnvelope(GOOD)).toEqual({ id: undefined, type: "order.paid" });
    const full = { id: "e-1", created: "2026-11-30T20:00:00.5+01:00", apiVersion: "2026-01", sequence: 7, team: "a" };
    expect(readEnvelope({ ...GOOD, ...full, data: null })).toEqual({ id: "e-1", type: "order.paid" });
    expect(readEnvelope({ ...GOOD, sequence: "123456789012345678901234567890" })).toMatchObject({ type: "order.paid" });
  });

  it.each([
    ["id", 7],
    ["id", ""],
    ["id", "é"],
    ["id", " a"],
    ["id", "line\nbreak"],
    ["id", "a".repeat(257)],
    ["id", null],
    ["type", ""],
    ["type", 1],
    ["type", "a".repeat(129)],
    ["type", undefined],
    ["created", "yesterday"],
    ["created", "2026-11-30T20:00:00"],
    ["created", 1],
    ["apiVersion", 1],
    ["sequence", "1.5"],
    ["sequence", {}],
  ])("is refused for %s: %j, by the field's name and without its value", (field, value) => {
    const fault = readEnvelope({ ...GOOD, [field]: value });
    expect(fault).toMatchObject({ field, message: expect.stringMatching(`^${field} cannot be used: `) });
  });

  it.each(["type", "data"])("is refused without %s, also when every object has such a field", (field) => {
    const { [field as "type"]: _, ...rest } = GOOD;
    expect(readEnvelope(rest)).toMatchObject({ field, message: expect.stringMatching(`^${field} is missing: `) });
    expect(readEnvelope(Object.assign(Object.create({ [field]: "inherited" }) as object, rest))).toMatchObject({
      field,
    });
  });

  it.each([[null], [[GOOD]], ["text"], [7]])("is refused when it is %j", (value) => {
    expect(readEnvelope(value)).toMatchObject({ field: "" });
  });
});
