import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Secret } from "../../../lib/secret.ts";
import type { VerificationKey } from "../../types.ts";
import { keysOf, plainRequest } from "../../vectors.ts";
import { createVerifier } from "../../verifier.ts";

/** Test data of https://github.com/eBay/event-notification-nodejs-sdk. */
const PUBLISHED = {
  kid: "9936261a-7d7b-4621-a0f1-96ccb428af49",
  publicKey:
    "-----BEGIN PUBLIC KEY-----MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZhhxXKtR+TOvtDbgTPCkSof02qgBB7IsYOyf76ilExJ/upAa/vKIKheOoCyOpcLmi4t0b4uepb7LLjmMr90FUg==-----END PUBLIC KEY-----",
  signature: "MEYCIQCfxfIWuxmWcIBQJ9c5/X7iGDJqs2RCGsBEaAjinyrrfAIhAIV6wGcTiBuV5KJUif2hokyrL+Q9ssHkad+mx2nEE25w",
  body: '{"metadata":{"topic":"MARKETPLACE_ACCOUNT_DELETION","schemaVersion":"1.0","deprecated":false},"notification":{"notificationId":"49feeaeb-4982-42d9-a377-9645b8479411_33f7e043-fed8-442b-9d44-791923bd9a6d","eventDate":"2021-03-19T20:43:59.462Z","publishDate":"2021-03-19T20:43:59.679Z","publishAttemptCount":1,"data":{"username":"test_user","userId":"ma8vp1jySJC","eiasToken":"nY+sHZ2PrBmdj6wVnY+sEZ2PrA2dj6wJnY+gAZGEpwmdj6x9nY+seQ=="}}}',
};

const verifier = createVerifier({ type: "provider", provider: "ebay" });
const keys = keysOf([PUBLISHED.publicKey]);

function headerOf(claims: Readonly<Record<string, unknown>> = {}): string {
  const { kid, signature } = PUBLISHED;
  return Buffer.from(JSON.stringify({ alg: "ecdsa", kid, signature, digest: "SHA1", ...claims })).toString("base64");
}

const verify = (header: string | readonly string[], body = PUBLISHED.body, ring: readonly VerificationKey[] = keys) =>
  verifier.verify(
    plainRequest({
      method: "POST",
      url: "",
      path: "/",
      headers: { "x-ebay-signature": header },
      body: Buffer.from(body),
    }),
    ring,
    0,
  );

describe("eBay's signature", () => {
  it("of eBay's own test data is accepted, with the key on one line or as PEM or bare base64", () => {
    expect(verify(headerOf())).toMatchObject({ ok: true });
    const base64 = PUBLISHED.publicKey.replaceAll(/-----[A-Z ]+-----/g, "");
    const pem = `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`;
    for (const written of [pem, base64])
      expect(verify(headerOf(), PUBLISHED.body, keysOf([written]))).toMatchObject({ ok: true });
  });

  it("is refused over another body", () => {
    expect(verify(headerOf(), `${PUBLISHED.body}\n`)).toMatchObject({ status: 401, reason: "SignatureMismatch" });
  });

  it("is judged by the key that its kid names, and by all when no key bears that name", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const other = Secret.of(publicKey.export({ format: "pem", type: "spki" }).toString());
    const named = (kid: string): VerificationKey => ({ id: "1", state: "current", keyId: kid, secret: other });
    const right: VerificationKey = { ...(keys[0] as VerificationKey), keyId: "another" };
    expect(verify(headerOf(), PUBLISHED.body, [named(PUBLISHED.kid), right])).toMatchObject({ ok: false });
    expect(verify(headerOf(), PUBLISHED.body, [named("yet-another"), right])).toMatchObject({ ok: true });
  });

  it("may not choose its algorithm, its form or its number", () => {
    const malformed = { status: 401, reason: "SignatureMalformed" };
    const odd = [
      headerOf({ alg: "none" }),
      headerOf({ digest: "SHA256" }),
      headerOf({ kid: 1 }),
      headerOf({ signature: `${PUBLISHED.signature} ` }),
      headerOf({ signature: "A".repeat(400) }),
      headerOf().replace(/=+$/, ""),
      "e30=",
      "bm8=",
      "not base64",
      headerOf({ kid: "a".repeat(2_000) }),
    ];
    for (const header of odd) expect(verify(header)).toMatchObject(malformed);
    expect(verify([headerOf(), headerOf()])).toMatchObject(malformed);
    expect(verify("")).toMatchObject({ status: 400, reason: "HeaderMissing" });
  });

  it("by a key on another curve or none is no signature", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
    const signature = sign("sha1", Buffer.from(PUBLISHED.body), privateKey).toString("base64");
    for (const secret of [pem, "no key", ""])
      expect(verify(headerOf({ signature }), PUBLISHED.body, keysOf([secret]))).toMatchObject({
        reason: "NoUsableKey",
      });
  });

  it("cannot be made here", () => {
    const input = { method: "POST", url: "", path: "/", body: Buffer.alloc(0), id: "1" };
    expect(() => verifier.sign(input, keys, 0)).toThrow(expect.objectContaining({ code: "CannotSign" }));
  });
});
