import { describe, expect, it } from "vitest";
import { judge, outcome, signed } from "../testing.ts";

const KEYS = { keys: ["graph-state"] };

function body(...states: readonly unknown[]): string {
  return JSON.stringify({ value: states.map((clientState) => ({ subscriptionId: "7f105c7d", clientState })) });
}

describe("ms-graph", () => {
  it.each([
    ["accepted", body("graph-state")],
    ["accepted", body("graph-state", "graph-state")],
    ["TokenMismatch", body("other")],
    ["TokenMismatch", body("graph-state", "other")],
    ["TokenMismatch", body("graph-stat")],
    ["TokenMismatch", body("graph-state ")],
    ["SignatureMissing", body("graph-state", undefined)],
    ["SignatureMissing", body("graph-state", "")],
    ["SignatureMissing", body(["graph-state"])],
    ["SignatureMissing", body()],
    ["SignatureMissing", '{"value":{"clientState":"graph-state"}}'],
    ["SignatureMissing", '{"value":[null]}'],
    ["SignatureMissing", '{"value":[{"__proto__":{"clientState":"graph-state"}}]}'],
    ["SignatureMissing", "[]"],
    ["SignatureMissing", "not json"],
  ])("says %s of %s", (expected, sent) => {
    expect(outcome("ms-graph", { body: sent }, KEYS)).toBe(expected);
  });

  it("takes no text that only becomes the secret as bytes", () => {
    expect(outcome("ms-graph", { body: body("\ud800") }, { keys: ["\ufffd"] })).toBe("SignatureMissing");
  });

  it("takes any key of the ring for each notification, and names the first", () => {
    const verdict = judge("ms-graph", { body: body("new", "old") }, { keys: ["old", "new"] });
    expect(verdict).toMatchObject({ ok: true, key: { id: "00000001" } });
    expect(outcome("ms-graph", { body: body("") }, { keys: [""] })).toBe("NoUsableKey");
  });

  it("says which notification it was, and never what it said", () => {
    expect(judge("ms-graph", { body: body("graph-state", "wrong-one") }, KEYS)).toMatchObject({
      detail: "clientState of notification 2 of 2 matches none of 1 key(s)",
    });
  });

  it("writes the secret into every notification that it sends", () => {
    const sent = signed("ms-graph", { body: body(undefined, "x") }, KEYS);
    expect(outcome("ms-graph", sent, KEYS)).toBe("accepted");
    for (const wrong of ["not json", "{}", '{"value":[1]}']) {
      expect(() => signed("ms-graph", { body: wrong }, KEYS)).toThrow(expect.objectContaining({ code: "CannotSign" }));
    }
  });
});
