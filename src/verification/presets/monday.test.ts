import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, judge, outcome, signed } from "./testing.ts";

const KEYS = { keys: ["monday-signing-secret"] };
const CLAIMS = { accountId: 1, exp: NOW / 1_000 + 300, iat: NOW / 1_000 };

function token(claims: object = CLAIMS, header: object = { alg: "HS256", typ: "JWT" }): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part(header)}.${part(claims)}`;
  return `${text}.${createHmac("sha256", KEYS.keys[0] ?? "")
    .update(text)
    .digest("base64url")}`;
}

function sent(authorization: string, body = '{"event":{}}') {
  return { body, headers: { authorization } };
}

describe("monday", () => {
  it.each([
    ["accepted", token()],
    ["accepted", `Bearer ${token()}`],
    ["TimestampExpired", token({ ...CLAIMS, exp: NOW / 1_000 - 1 })],
    ["SignatureMalformed", `Basic ${token()}`],
    ["SignatureMalformed", token(CLAIMS, { alg: "none" })],
    ["SignatureMalformed", token(CLAIMS, { alg: "HS512" })],
    ["SignatureMalformed", "a.b.c"],
    ["HeaderMissing", ""],
    ["SignatureMismatch", `${token().slice(0, -4)}AAAA`],
  ])("says %s of %s", (expected, authorization) => {
    expect(outcome("monday", sent(authorization), KEYS)).toBe(expected);
  });

  it("refuses a token that never ends", () => {
    expect(judge("monday", sent(token({ iat: NOW / 1_000 })), KEYS)).toMatchObject({ ok: false });
  });

  it("takes several events with one token, as those of one second have it", () => {
    const bodies = [1, 2, 3].map((n) => JSON.stringify({ event: { triggerUuid: `u${n}`, pulseId: n } }));
    const [one, ...others] = bodies.map((body) => judge("monday", sent(token(), body), KEYS));
    expect(one).toMatchObject({ ok: true });
    expect(one).not.toHaveProperty("nonce");
    for (const other of others) expect(other).toEqual(one);
  });

  it("signs what it accepts", () => {
    expect(outcome("monday", signed("monday", { body: "{}" }, KEYS), KEYS)).toBe("accepted");
  });
});
