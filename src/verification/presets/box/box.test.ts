import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { VerificationKey } from "../../types.ts";
import { keysOf } from "../../vectors.ts";
import { NOW, judge, outcome, signed, type Sent } from "../testing.ts";

const BODY = '{"type":"webhook_event","id":"e1"}';
const TIME = "2024-06-09T23:13:20-07:00";
const [PRIMARY, SECONDARY] = ["SamplePrimaryKey", "SampleSecondaryKey"];
const KEYS = { keys: [PRIMARY, SECONDARY] };

function mac(secret: string, text = BODY + TIME): string {
  return createHmac("sha256", secret).update(text).digest("base64");
}

function request(changes: Readonly<Record<string, string | readonly string[]>> = {}, body = BODY): Sent {
  return {
    body,
    headers: {
      "box-delivery-timestamp": TIME,
      "box-signature-version": "1",
      "box-signature-algorithm": "HmacSHA256",
      "box-signature-primary": mac(PRIMARY),
      "box-signature-secondary": mac(SECONDARY),
      ...changes,
    },
  };
}

const none = { "box-signature-primary": [], "box-signature-secondary": [] };

function named(keyId: string | undefined, secret: string, more: Partial<VerificationKey> = {}): VerificationKey {
  const [key] = keysOf([secret]);
  if (!key) throw new Error("no key");
  return { ...key, ...(keyId !== undefined && { keyId }), ...more };
}

describe("box", () => {
  it.each([
    ["both signatures", request()],
    ["the primary one only", request({ "box-signature-secondary": [] })],
    ["the secondary one only", request({ "box-signature-primary": [] })],
    ["a wrong one beside a right one", request({ "box-signature-primary": mac("other") })],
    ["one that is no base64 beside a right one", request({ "box-signature-primary": "x" })],
    ["an empty one beside a right one", request({ "box-signature-primary": "" })],
  ])("accepts %s", (_what, sent) => {
    expect(outcome("box", sent, KEYS)).toBe("accepted");
  });

  it.each([
    [
      "SignatureMismatch",
      "each key's signature in the other's header",
      request({ "box-signature-primary": mac(SECONDARY), "box-signature-secondary": mac(PRIMARY) }),
    ],
    ["SignatureMismatch", "another body", request({}, `${BODY} `)],
    ["SignatureMismatch", "another timestamp", request({ "box-delivery-timestamp": TIME.replace("20-", "21-") })],
    ["SignatureMalformed", "another version", request({ "box-signature-version": "2" })],
    ["SignatureMalformed", "another algorithm", request({ "box-signature-algorithm": "HmacSHA1" })],
    ["HeaderMissing", "no version", request({ "box-signature-version": [] })],
    ["HeaderMissing", "no signature", request(none)],
    ["SignatureMalformed", "no signature that is base64", request({ ...none, "box-signature-primary": "x" })],
    ["SignatureMalformed", "two primary ones", request({ "box-signature-primary": [mac(PRIMARY), mac(PRIMARY)] })],
    ["TimestampMalformed", "two timestamps", request({ "box-delivery-timestamp": [TIME, TIME] })],
    [
      "TimestampMalformed",
      "a timestamp without an offset",
      request({ "box-delivery-timestamp": "2024-06-09T23:13:20" }),
    ],
    ["HeaderMissing", "no timestamp", request({ "box-delivery-timestamp": [] })],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("box", sent, KEYS)).toBe(reason);
  });

  it.each([
    ["accepted", 600_000],
    ["TimestampExpired", 600_001],
    ["accepted", -600_000],
    ["TimestampInFuture", -600_001],
  ])("says %s when the clock is %d ms ahead of Box", (expected, ahead) => {
    expect(outcome("box", request(), { ...KEYS, now: NOW + ahead })).toBe(expected);
  });

  it("goes by the keys' names where they have one, whatever their order", () => {
    const keys = [named("secondary", SECONDARY), named("primary", PRIMARY)];
    expect(outcome("box", request({ "box-signature-primary": [] }), { keys })).toBe("accepted");
    expect(outcome("box", request(), { keys: [named("secondary", PRIMARY), named("primary", SECONDARY)] })).toBe(
      "SignatureMismatch",
    );
    expect(outcome("box", request({ "box-signature-primary": [] }), { keys: [named("secondary", SECONDARY)] })).toBe(
      "accepted",
    );
  });

  it("keeps the places of keys of which one is blank or out of date", () => {
    const gone = { keys: [named(undefined, PRIMARY, { notAfter: NOW - 1 }), named(undefined, SECONDARY)] };
    expect(judge("box", request(), gone)).toMatchObject({ ok: true, key: { id: gone.keys[1]?.id } });
    expect(outcome("box", request({ "box-signature-secondary": [] }), gone)).toBe("SignatureMismatch");
    expect(outcome("box", request(), { keys: ["", SECONDARY] })).toBe("accepted");
  });

  it("takes a former key of the ring in either header", () => {
    const sent = request({ "box-signature-primary": mac("former"), "box-signature-secondary": mac("x") });
    expect(outcome("box", sent, { keys: [PRIMARY, SECONDARY, "former"] })).toBe("accepted");
  });

  it("signs with each key in its own header, and uses the current one of each", () => {
    const sent = signed("box", { body: BODY }, { keys: [PRIMARY, SECONDARY, "former"] });
    expect(outcome("box", sent, { keys: [PRIMARY] })).toBe("accepted");
    expect(
      outcome(
        "box",
        { ...sent, headers: { ...sent.headers, "box-signature-primary": [] } },
        { keys: [named("secondary", SECONDARY)] },
      ),
    ).toBe("accepted");
  });
});
