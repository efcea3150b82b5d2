import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NOW, judge, outcome, signed, type Sent } from "../testing.ts";

const SECRET = "secret";
const KEYS = { keys: [SECRET] };
const TIME = String(NOW / 1_000);
const BODY = "hello !";

function mac(text: string): string {
  return createHmac("sha256", SECRET).update(text, "latin1").digest("hex");
}

const V0 = mac(`${TIME}.${BODY}`);
const V1 = mac(`${TIME}.x-test X-Test2.val1.val.2.${BODY}`);
const LISTED = `t=${TIME},h=x-test X-Test2,v1=${V1}`;

function request(
  signature: string | readonly string[],
  more: Readonly<Record<string, string | readonly string[]>> = {},
): Sent {
  return { body: BODY, headers: { "x-hook0-signature": signature, "x-test": "val1", "x-test2": "val.2", ...more } };
}

describe("hook0", () => {
  it.each([
    ["v0 over the body", request(`t=${TIME},v0=${V0}`)],
    ["v0 in upper case, as Hook0's client does", request(`t=${TIME},v0=${V0.toUpperCase()}`)],
    ["v1 over several headers", request(LISTED)],
    ["v1 over no header", request(`t=${TIME},h=,v1=${mac(`${TIME}...${BODY}`)}`)],
    ["items in any order, and others between them", request(`v1=${V1},x=y,h=x-test X-Test2,t=${TIME}`)],
    ["v1 beside a v0 that is wrong", request(`${LISTED},v0=${"0".repeat(64)}`)],
    [
      "a value with other bytes than ASCII",
      request(`t=${TIME},h=x-test,v1=${mac(`${TIME}.x-test.\u00c3\u00a9.${BODY}`)}`, { "x-test": "é" }),
    ],
    ["an empty value", request(`t=${TIME},h=x-test,v1=${mac(`${TIME}.x-test..${BODY}`)}`, { "x-test": "" })],
  ])("accepts %s", (_what, sent) => {
    expect(outcome("hook0", sent, KEYS)).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another body", { ...request(LISTED), body: "hello ?" }],
    ["SignatureMismatch", "another value of a listed header", request(LISTED, { "x-test": "val2" })],
    [
      "SignatureMismatch",
      "a v1 that is wrong beside a v0 that is right",
      request(`t=${TIME},h=x-test,v0=${V0},v1=${V1}`),
    ],
    ["SignatureMismatch", "a shorter list", request(LISTED.replace(" X-Test2", ""))],
    ["HeaderMissing", "a listed header that is missing", request(LISTED, { "x-test2": [] })],
    ["SignatureMalformed", "a listed header that is there twice", request(LISTED, { "x-test2": ["val.2", "x"] })],
    ["SignatureMalformed", "v1 without a list", request(`t=${TIME},v1=${V1}`)],
    ["SignatureMalformed", "a list with two blanks", request(LISTED.replace(" X", "  X"))],
    ["SignatureMalformed", "two lists", request(`${LISTED},h=x-test`)],
    [
      "SignatureMalformed",
      "a list of more headers than any sender signs",
      request(`t=${TIME},h=${Array.from({ length: 65 }, () => "x-test").join(" ")},v1=${V1}`),
    ],
    ["SignatureMalformed", "a header that is listed twice", request(LISTED.replace("X-Test2", "X-Test"))],
    ["SignatureMalformed", "two timestamps", request(`t=${TIME},${LISTED}`)],
    ["SignatureMalformed", "an item without a name", request(`=x,${LISTED}`)],
    ["SignatureMalformed", "an item without a value", request(`${LISTED},x`)],
    ["SignatureMalformed", "no signature", request(`t=${TIME},h=x-test`)],
    ["SignatureMalformed", "a short signature", request(`t=${TIME},v0=abc`)],
    ["SignatureMalformed", "a signature with an equals sign", request(`t=${TIME},v0=ab=cd`)],
    ["SignatureMalformed", "two headers", request([LISTED, LISTED])],
    ["SignatureMalformed", "garbage", request(",,,")],
    ["HeaderMissing", "an empty header", request("")],
    ["TimestampMalformed", "no timestamp", request(`v0=${V0}`)],
    ["TimestampMalformed", "a timestamp that is none", request(`t=error,v0=${V0}`)],
    ["TimestampMalformed", "a timestamp that parseInt would take", request(`t=${TIME}x,v0=${V0}`)],
    ["TimestampExpired", "an old timestamp", stamped(NOW / 1_000 - 301)],
    ["TimestampInFuture", "a timestamp ahead", stamped(NOW / 1_000 + 301)],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("hook0", sent, KEYS)).toBe(reason);
  });

  it("lets no byte of the body move into a header, and none of a header into the event's id", () => {
    const body = '{"amount":12.5,"x":1}';
    const names = "x-event-id x-event-type";
    const sent = (id: string, type: string, rest: string): Sent => ({
      body: rest,
      headers: {
        "x-hook0-signature": `t=${TIME},h=${names},v1=${mac(`${TIME}.${names}.e1.order.created.${body}`)}`,
        "x-event-id": id,
        "x-event-type": type,
      },
    });
    const genuine = judge("hook0", sent("e1", "order.created", body), KEYS);
    expect(genuine).toMatchObject({
      ok: true,
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      nonceGoodForMs: 360_000,
    });
    for (const provider of ["hook0", "coinbase-cdp"]) {
      expect(outcome(provider, sent("e1", 'order.created.{"amount":12', '5,"x":1}'), KEYS)).toBe("SignatureMalformed");
      expect(outcome(provider, sent("e1.order", "created", body), KEYS)).toBe("SignatureMalformed");
    }
    // A piece of a value at the head of the body makes it another body, for which the signature is not good a second time.
    const cut = judge("hook0", sent("e1", "order", `created.${body}`), KEYS);
    expect(cut.ok && cut.nonce).toBe(genuine.ok && genuine.nonce);
  });

  it("never throws, whatever the header says", () => {
    for (const signature of [
      "t",
      "t=",
      "=",
      "h",
      "v1=",
      "t=1,h=%,v1=é",
      "t=1,h=\u0000,v1=x",
      "__proto__=1",
      `t=1,h=constructor,v1=${V1}`,
    ]) {
      expect(judge("hook0", request(signature), KEYS).ok).toBe(false);
    }
  });

  it("signs headers and body as it accepts them, for Coinbase as well", () => {
    for (const provider of ["hook0", "coinbase-cdp"]) {
      const sent = signed(provider, { body: BODY, headers: { "x-event-type": "a.b" }, id: "event-1" }, KEYS);
      expect(sent.headers).toMatchObject({ "x-event-id": "event-1" });
      expect(outcome(provider, sent, KEYS)).toBe("accepted");
      expect(outcome(provider, { ...sent, headers: { ...sent.headers, "x-event-id": "event-2" } }, KEYS)).toBe(
        "SignatureMismatch",
      );
    }
  });
});

describe("coinbase-cdp", () => {
  it("wants v1, whatever v0 says", () => {
    expect(outcome("coinbase-cdp", request(`${LISTED},v0=${V0}`), KEYS)).toBe("accepted");
    expect(outcome("coinbase-cdp", request(`t=${TIME},v0=${V0}`), KEYS)).toBe("SignatureMalformed");
  });
});

function stamped(seconds: number): Sent {
  return request(`t=${seconds},v0=${mac(`${seconds}.${BODY}`)}`);
}
