import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { Secret } from "./secret.ts";

describe("Secret", () => {
  const secret = Secret.of("whsec_hunter2");

  it("shows its bytes to nobody who does not ask for them", () => {
    const shown = [String(secret), JSON.stringify({ secret }), inspect({ secret }, { depth: 9, showHidden: true })];
    for (const text of shown) expect(text).not.toMatch(/hunter2|77 68 73|d2hzZWN/);
    expect(secret.reveal().toString()).toBe("whsec_hunter2");
  });

  it("equals its own bytes and no others, of whatever length", () => {
    expect(secret.equals(Buffer.from("whsec_hunter2"))).toBe(true);
    for (const other of ["", "whsec_hunter", "whsec_hunter22", "whsec_hunter3"]) {
      expect(secret.equals(Buffer.from(other))).toBe(false);
    }
  });

  it("knows that white space is no secret", () => {
    for (const blank of ["", " ", "\n\t ", "\0\0", "\0 \n"]) expect(Secret.of(blank).isBlank).toBe(true);
    expect(Secret.of(" x").isBlank).toBe(false);
  });
});
