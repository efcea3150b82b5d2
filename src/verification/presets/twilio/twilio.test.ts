import { createHmac, hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { isSigned, presetOf } from "../../verifier.ts";
import { judge, outcome, signed, type Sent } from "../testing.ts";

const KEYS = ["12345"];
const FORM_TYPE = "application/x-www-form-urlencoded";
const FORM = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212";
const SORTED = "CallSidCA1234567890ABCDECaller+14158675309Digits1234From+14158675309To+18005551212";
const TARGET = "https://mycompany.com/myapp.php?foo=1&bar=2";
const JSON_BODY = '{"property": "value", "boolean": true}';
const JSON_URL = `${TARGET}&bodySHA256=${hash("sha256", JSON_BODY)}`;

/** As Twilio's document describes it: the text, HMAC-SHA1, base64. */
function mac(text: string, algorithm = "sha1"): string {
  return createHmac(algorithm, "12345").update(text, "utf8").digest("base64");
}

function form(url: string, signature: string, body = FORM, type: string | readonly string[] = FORM_TYPE): Sent {
  return { url, body, headers: { "x-twilio-signature": signature, "content-type": type } };
}

function json(url: string, signature: string, body = JSON_BODY): Sent {
  return { url, body, headers: { "x-twilio-signature": signature, "content-type": "application/json" } };
}

describe("twilio", () => {
  it.each([
    ["the signature of Twilio's document", form(TARGET, "RSOYDt4T1cUTdK1PDd93/VVr8B8=")],
    ["the URL with the default port", form(TARGET, mac(`https://mycompany.com:443/myapp.php?foo=1&bar=2${SORTED}`))],
    ["the URL without its port", form("https://mycompany.com:8443/a?b", mac(`https://mycompany.com/a?b${SORTED}`))],
    ["the port of http", form("http://mycompany.com/a", mac(`http://mycompany.com:80/a${SORTED}`))],
    [
      "user and password in the URL",
      form("https://u:p@mycompany.com/a", mac(`https://u:p@mycompany.com:443/a${SORTED}`)),
    ],
    [
      "a query that a URL parser would rewrite",
      form("https://m.com/a?q='it s'", mac(`https://m.com/a?q='it s'${SORTED}`)),
    ],
    [
      "a content type with parameters",
      form(TARGET, mac(TARGET + SORTED), FORM, `${FORM_TYPE.toUpperCase()} ; charset=UTF-8`),
    ],
    ["fields in another order", form(TARGET, mac(`${TARGET}A1B2`), "B=2&A=1")],
    ["values that repeat once each, sorted", form(TARGET, mac(`${TARGET}D1234D5678S1`), "S=1&D=5678&D=1234&D=1234")],
    ["text beyond ASCII", form(TARGET, mac(`${TARGET}Bodyä😀`), "Body=%C3%A4%F0%9F%98%80")],
    ["a GET without a body", { method: "GET", url: TARGET, headers: { "x-twilio-signature": mac(TARGET) } }],
    ["JSON whose hash is in the URL", json(JSON_URL, mac(JSON_URL))],
  ])("accepts %s", (_what, sent) => {
    expect(outcome("twilio", sent, { keys: KEYS })).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "JSON without a hash in the URL", json(TARGET, mac(TARGET))],
    ["SignatureMismatch", "a form that is said to be JSON", form(TARGET, mac(TARGET), FORM, "application/json")],
    [
      "SignatureMismatch",
      "a form that says no type",
      { ...form(TARGET, mac(TARGET + SORTED)), headers: { "x-twilio-signature": mac(TARGET + SORTED) } },
    ],
    [
      "SignatureMismatch",
      "a form that says two types",
      form(TARGET, mac(TARGET + SORTED), FORM, [FORM_TYPE, "text/plain"]),
    ],
    [
      "SignatureMismatch",
      "a type that only begins like a form's",
      form(TARGET, mac(TARGET + SORTED), FORM, `${FORM_TYPE}x`),
    ],
    ["SignatureMismatch", "another body than the one that was hashed", json(JSON_URL, mac(JSON_URL), `${JSON_BODY} `)],
    ["SignatureMalformed", "two hashes", json(`${JSON_URL}&bodySHA256=0`, mac(`${JSON_URL}&bodySHA256=0`))],
    ["SignatureMalformed", "an upper-case hash", json(upper(JSON_URL), mac(upper(JSON_URL)))],
    ["SignatureMalformed", "an empty hash", json(`${TARGET}&bodySHA256=`, mac(`${TARGET}&bodySHA256=`))],
    [
      "SignatureMismatch",
      "a hash under a similar name",
      json(JSON_URL.replace("bodySHA", "xbodySHA"), mac(JSON_URL.replace("bodySHA", "xbodySHA"))),
    ],
    ["SignatureMismatch", "a form that is not UTF-8", form(TARGET, mac(`${TARGET}A\ufffd`), "A=%ff")],
    ["SignatureMismatch", "a form with a broken escape", form(TARGET, mac(`${TARGET}A%zz`), "A=%zz")],
    ["SignatureMismatch", "another scheme", form(TARGET.replace("https", "http"), mac(TARGET + SORTED))],
    [
      "SignatureMismatch",
      "a port of another server",
      form(TARGET, mac(`https://mycompany.com:8443/myapp.php?foo=1&bar=2${SORTED}`)),
    ],
    [
      "SignatureMismatch",
      "a query in another order",
      form("https://mycompany.com/myapp.php?bar=2&foo=1", mac(TARGET + SORTED)),
    ],
    ["SignatureMalformed", "a signature without its padding", form(TARGET, mac(TARGET + SORTED).replace("=", ""))],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("twilio", sent, { keys: KEYS })).toBe(reason);
  });

  it("takes names that every object has for fields like any other", () => {
    const body = "__proto__=1&constructor=2&toString=3";
    const text = `${TARGET}__proto__1constructor2toString3`;
    expect(outcome("twilio", form(TARGET, mac(text), body), { keys: KEYS })).toBe("accepted");
  });

  it("takes SHA-256 only where the route says so, and then nothing else", () => {
    const [sha1, sha256] = [form(TARGET, mac(TARGET + SORTED)), form(TARGET, mac(TARGET + SORTED, "sha256"))];
    const route = { keys: KEYS, parameters: { algorithm: "sha256" } };
    expect([outcome("twilio", sha256, route), outcome("twilio", sha1, route)]).toEqual([
      "accepted",
      "SignatureMalformed",
    ]);
    expect(outcome("twilio", sha256, { keys: KEYS })).toBe("SignatureMalformed");
  });

  it("counts no field as covered, because text can be moved from a value into its name", () => {
    for (const body of ["MessageSid=SM1", "MessageSidS=M1"]) {
      expect(outcome("twilio", form(TARGET, mac(`${TARGET}MessageSidSM1`), body), { keys: KEYS })).toBe("accepted");
    }
    expect(presetOf("twilio").dedupe.filter(({ signed: isCovered }) => isCovered)).toEqual([]);
    expect(isSigned({ type: "provider", provider: "twilio" }, "body")).toBe(false);
  });

  it("takes a form of a thousand fields, and does not sort longer ones: anybody may send them", () => {
    const fieldsOf = (fields: number) => Array.from({ length: fields }, (_, at) => `n${at}=v`).join("&");
    const macOf = (body: string) => {
      const fields = [...new URLSearchParams(body)].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return createHmac("sha1", KEYS[0] ?? "")
        .update(TARGET + fields.map((field) => field.join("")).join(""))
        .digest("base64");
    };
    const sent = (body: string): Sent => ({
      url: TARGET,
      body,
      headers: { "content-type": FORM_TYPE, "x-twilio-signature": macOf(body) },
    });
    expect(outcome("twilio", sent(fieldsOf(1_000)), { keys: KEYS })).toBe("accepted");
    expect(outcome("twilio", sent(fieldsOf(1_001)), { keys: KEYS })).toBe("SignatureMismatch");
  });

  it("gives one canonical signature for a form in any order", () => {
    const verdicts = ["A=1&B=2", "B=2&A=1"].map((body) =>
      judge("twilio", form(TARGET, mac(`${TARGET}A1B2`), body), { keys: KEYS }),
    );
    expect(new Set(verdicts.map((verdict) => verdict.ok && verdict.signature)).size).toBe(1);
    // Of all the bodies that have it, it is good for one.
    for (const verdict of verdicts) expect(verdict.ok && verdict.nonce).toBe(verdict.ok && verdict.signature);
  });

  it("signs what it accepts, a form or a body whose hash is in the URL", () => {
    for (const sent of [
      { url: TARGET, body: FORM, headers: { "content-type": FORM_TYPE } },
      { url: JSON_URL, body: JSON_BODY, headers: { "content-type": "application/json" } },
    ]) {
      expect(outcome("twilio", signed("twilio", sent, { keys: KEYS }), { keys: KEYS })).toBe("accepted");
    }
  });

  it("does not sign a body that nothing would cover", () => {
    const sent = { url: TARGET, body: JSON_BODY, headers: { "content-type": "application/json" } };
    expect(() => signed("twilio", sent, { keys: KEYS })).toThrow(expect.objectContaining({ code: "CannotSign" }));
  });
});

function upper(url: string): string {
  return url.replace(/[0-9a-f]{64}/, (digits) => digits.toUpperCase());
}
