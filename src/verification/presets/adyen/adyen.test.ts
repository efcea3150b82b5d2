import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { presetOf } from "../../verifier.ts";
import { judge, outcome, signed, type Route } from "../testing.ts";

/** Key and signature of https://github.com/Adyen/adyen-node-api-library (`hmacValidator.spec.ts`). */
const KEY = "DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00";
const OFFICIAL = "xhpHvYq2u2Np0rstbZ6QjLGu7JWhvf7Iwaa6EviJSX0=";
const KEYS: Route = { keys: [KEY] };
const FIELDS = {
  amount: { value: 1000, currency: "EUR" },
  pspReference: "pspReference",
  originalReference: "originalReference",
  eventCode: "CAPTURE",
  merchantAccountCode: "merchantAccount",
  merchantReference: "reference",
  reason: "reason",
  success: "true",
};
const TEXT = "pspReference:originalReference:merchantAccount:reference:1000:EUR:CAPTURE:true";

function mac(text: string): string {
  return createHmac("sha256", Buffer.from(KEY, "hex")).update(text, "utf8").digest("base64");
}

function item(changes: object, hmacSignature: unknown = OFFICIAL): object {
  return { NotificationRequestItem: { ...FIELDS, ...changes, additionalData: { hmacSignature } } };
}

function body(...notificationItems: readonly object[]): string {
  return JSON.stringify({ live: "false", notificationItems });
}

describe("adyen", () => {
  it.each([
    ["Adyen's own example", body(item({}))],
    ["two items", body(item({}), item({ success: "false" }, mac(TEXT.replace("true", "false"))))],
    [
      "an absent field, which counts as empty",
      body(item({ originalReference: undefined }, mac(TEXT.replace("originalReference", "")))),
    ],
    [
      "a null field, which counts as empty",
      body(item({ originalReference: null }, mac(TEXT.replace("originalReference", "")))),
    ],
    ["a boolean success", body(item({ success: true }))],
    ["a change of what is not signed", body(item({ reason: "other" }))],
    [
      "a colon in the merchant's reference as it is",
      body(item({ merchantReference: "a:b\\c" }, mac(TEXT.replace(":reference", ":a:b\\c")))),
    ],
    [
      "the same with backslashes",
      body(item({ merchantReference: "a:b\\c" }, mac(TEXT.replace(":reference", ":a\\:b\\\\c")))),
    ],
    ["text beyond ASCII", body(item({ merchantReference: "ä😀" }, mac(TEXT.replace(":reference", ":ä😀"))))],
  ])("accepts %s", (_what, sent) => {
    expect(outcome("adyen", { body: sent }, KEYS)).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another amount", body(item({ amount: { value: 1001, currency: "EUR" } }))],
    ["SignatureMismatch", "a second item that does not verify", body(item({}), item({ success: "false" }))],
    ["SignatureMissing", "a second item without a signature", body(item({}), item({}, null))],
    ["SignatureMissing", "a second item that is no item", body(item({}), {})],
    ["SignatureMissing", "no items", body()],
    ["SignatureMissing", "items that are no list", JSON.stringify({ notificationItems: item({}) })],
    ["SignatureMissing", "items of the prototype", '{"__proto__":{"notificationItems":[]}}'],
    ["SignatureMissing", "no JSON", "not json"],
    ["SignatureMissing", "an empty signature", body(item({}, ""))],
    ["SignatureMissing", "a signature that is a list", body(item({}, [OFFICIAL]))],
    ["SignatureMalformed", "a signature without its padding", body(item({}, OFFICIAL.replace("=", "")))],
    ["SignatureMalformed", "a reference with a colon, into which a neighbour was moved", moved()],
    [
      "SignatureMalformed",
      "an object as a field",
      body(item({ merchantReference: {} }, mac(TEXT.replace(":reference", ":[object Object]")))),
    ],
    ["SignatureMalformed", "a list as a field", body(item({ merchantReference: ["reference"] }))],
    ["SignatureMalformed", "an amount that parsing would cut", large()],
    [
      "SignatureMalformed",
      "half of a surrogate pair",
      body(item({ merchantReference: "\ud800" }, mac(TEXT.replace(":reference", ":\ufffd")))),
    ],
  ])("refuses with %s %s", (reason, _what, sent) => {
    expect(outcome("adyen", { body: sent }, KEYS)).toBe(reason);
  });

  it("is one notification whatever the order of its items, and has none of them twice", () => {
    const [one, other] = [item({}), item({ success: "false" }, mac(TEXT.replace("true", "false")))] as const;
    const signatures = [
      body(one, other),
      body(other, one),
      JSON.stringify({ notificationItems: [one, other], x: 1 }),
    ].map((sent) => {
      const verdict = judge("adyen", { body: sent }, KEYS);
      return verdict.ok && verdict.signature;
    });
    expect(new Set(signatures).size).toBe(1);
    expect(signatures[0]).toMatch(/ /);
    for (const sent of [body(one, one), body(one, other, one)]) {
      expect(outcome("adyen", { body: sent }, KEYS)).toBe("SignatureMalformed");
    }
    // Nothing beside the items is signed, so nothing of the body makes it another notification.
    expect(presetOf("adyen")).toMatchObject({ bodyExcept: [""], withoutId: "Signature" });
  });

  it("says which item it was", () => {
    expect(judge("adyen", { body: body(item({}), item({ success: "false" })) }, KEYS)).toMatchObject({
      detail: expect.stringMatching(/^item 2 of 2: /),
    });
  });

  it("takes the last of two fields of one name, which is the one that JSON.parse hands on", () => {
    const twice = (first: string, last: string) =>
      body(item({})).replace('"value":1000', `"value":${first},"value":${last}`);
    expect(outcome("adyen", { body: twice("1001", "1000") }, KEYS)).toBe("accepted");
    expect(outcome("adyen", { body: twice("1000", "1001") }, KEYS)).toBe("SignatureMismatch");
  });

  it("reads the key as hex in either case, and uses no other", () => {
    const sent = { body: body(item({})) };
    expect(outcome("adyen", sent, { keys: [KEY.toLowerCase()] })).toBe("accepted");
    expect(outcome("adyen", sent, { keys: [`${KEY}zz`] })).toBe("NoUsableKey");
    expect(outcome("adyen", sent, { keys: ["00".repeat(32), KEY] })).toBe("accepted");
  });

  it("signs every item, and keeps what else it has", () => {
    const sent = signed(
      "adyen",
      {
        body: body(
          { NotificationRequestItem: { ...FIELDS, additionalData: { a: "b" } } },
          item({ success: "false" }, "x"),
        ),
      },
      KEYS,
    );
    expect(outcome("adyen", sent, KEYS)).toBe("accepted");
    expect(JSON.parse(String(sent.body))).toMatchObject({
      live: "false",
      notificationItems: [{ NotificationRequestItem: { additionalData: { a: "b", hmacSignature: OFFICIAL } } }, {}],
    });
  });

  it.each(["not json", "[]", "{}", body(item({ merchantReference: [] }))])("does not sign %s", (sent) => {
    expect(() => signed("adyen", { body: sent }, KEYS)).toThrow(expect.objectContaining({ code: "CannotSign" }));
  });
});

/** `merchantAccount:reference` as account, so that the amount's value becomes the reference. */
function moved(): string {
  const changes = { originalReference: "originalReference:merchantAccount", merchantAccountCode: "reference" };
  return body(
    item(
      {
        ...changes,
        merchantReference: "1000",
        amount: { value: "EUR", currency: "CAPTURE" },
        eventCode: "true",
        success: undefined,
      },
      mac(TEXT),
    ),
  );
}

function large(): string {
  const signature = mac(TEXT.replace("1000", "9007199254740992"));
  return body(item({}, signature)).replace('"value":1000', '"value":9007199254740993');
}
