import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, judge, outcome, signed } from "../testing.ts";

const SECRET = "mailgun-signing-key";
const KEYS = { keys: [SECRET] };
const TOKEN = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0";
const TIME = String(NOW / 1_000);

function mac(text: string, secret = SECRET): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

function body(signature: unknown, event: object = { id: "e1" }): string {
  return JSON.stringify({ signature, "event-data": event });
}

const RIGHT = { timestamp: TIME, token: TOKEN, signature: mac(TIME + TOKEN) };

describe("mailgun", () => {
  it.each([
    ["timestamp and token", RIGHT],
    ["a timestamp as a number", { ...RIGHT, timestamp: Number(TIME) }],
    [
      "the signature of the parent account",
      { ...RIGHT, signature: mac(TIME + TOKEN, "x"), "parent-signature": RIGHT.signature },
    ],
    ["its own beside a wrong one of the parent", { ...RIGHT, "parent-signature": mac(TIME + TOKEN, "x") }],
    [
      "only the signature of the parent account",
      { ...RIGHT, signature: undefined, "parent-signature": RIGHT.signature },
    ],
  ])("accepts %s", (_what, signature) => {
    expect(outcome("mailgun", { body: body(signature) }, KEYS)).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another token", { ...RIGHT, token: `${TOKEN.slice(1)}0` }],
    ["SignatureMismatch", "another timestamp", { ...RIGHT, timestamp: String(Number(TIME) + 1) }],
    ["SignatureMalformed", "a signature in upper case", { ...RIGHT, signature: RIGHT.signature.toUpperCase() }],
    ["SignatureMalformed", "a short signature", { ...RIGHT, signature: "00" }],
    ["SignatureMalformed", "no token", { ...RIGHT, token: "", signature: mac(TIME) }],
    ["SignatureMalformed", "a token that is no text", { ...RIGHT, token: 5, signature: mac(`${TIME}5`) }],
    ["SignatureMissing", "no signature", { ...RIGHT, signature: undefined }],
    ["SignatureMissing", "an empty signature", { ...RIGHT, signature: "" }],
    ["SignatureMissing", "a signature that is a list", { ...RIGHT, signature: [RIGHT.signature] }],
    ["SignatureMissing", "null", null],
    ["TimestampMalformed", "no timestamp", { ...RIGHT, timestamp: undefined }],
    ["TimestampMalformed", "a timestamp that parseInt would take", { ...RIGHT, timestamp: `${TIME}x` }],
    ["TimestampMalformed", "a fraction", { ...RIGHT, timestamp: 1718000000.5 }],
    ["TimestampExpired", "an old one", stamped(NOW / 1_000 - 8 * 3_600 - 1)],
    ["TimestampInFuture", "one ahead", stamped(NOW / 1_000 + 8 * 3_600 + 1)],
  ])("refuses with %s %s", (reason, _what, signature) => {
    expect(outcome("mailgun", { body: body(signature) }, KEYS)).toBe(reason);
  });

  it.each(["not json", "[]", '{"__proto__":{"signature":{}}}'])("finds no signature in %s", (sent) => {
    expect(outcome("mailgun", { body: sent }, KEYS)).toBe("SignatureMissing");
  });

  it("refuses a digit that was moved from the timestamp into the token, or back", () => {
    for (const at of [9, 11]) {
      const text = `${TIME}1${TOKEN}`;
      const signature = { timestamp: text.slice(0, at), token: text.slice(at), signature: mac(text) };
      expect(outcome("mailgun", { body: body(signature) }, { ...KEYS, toleranceMs: 0 })).toBe("TimestampMalformed");
    }
  });

  it("gives timestamp and token as good for one body, because the event is not covered", () => {
    const verdicts = [{ id: "e1" }, { id: "e2" }].map((event) => judge("mailgun", { body: body(RIGHT, event) }, KEYS));
    for (const verdict of verdicts) expect(verdict).toMatchObject({ ok: true, nonce: TIME + TOKEN, signedAt: NOW });
  });

  it("takes a repetition with the same signature for as long as Mailgun repeats, and has it remembered until then", () => {
    const repeated = [0, 5 * 60_000, 7.5 * 3_600_000, 8 * 3_600_000].map((later) =>
      judge("mailgun", { body: body(RIGHT) }, { ...KEYS, now: NOW + later }),
    );
    expect(repeated.map((verdict) => verdict.ok && verdict.nonceGoodForMs)).toEqual(
      [8, 8 - 1 / 12, 0.5, 0].map((hours) => hours * 3_600_000 + 60_000),
    );
    const unchecked = judge("mailgun", { body: body(RIGHT) }, { ...KEYS, toleranceMs: 0 });
    expect(unchecked).not.toHaveProperty("nonceGoodForMs");
  });

  it("signs what it accepts, under a token of its own", () => {
    const sent = signed("mailgun", { body: body(undefined), id: "delivery-1" }, KEYS);
    expect(judge("mailgun", sent, KEYS)).toMatchObject({ ok: true, nonce: `${TIME}delivery-1` });
    expect(() => signed("mailgun", { body: "text" }, KEYS)).toThrow(expect.objectContaining({ code: "CannotSign" }));
  });
});

function stamped(seconds: number) {
  return { timestamp: String(seconds), token: TOKEN, signature: mac(seconds + TOKEN) };
}
