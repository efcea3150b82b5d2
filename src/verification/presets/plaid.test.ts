import { generateKeyPairSync, hash, sign, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Secret } from "../../lib/secret.ts";
import { NOW, outcome, requestOf, signed, verifierOf, type Route } from "./testing.ts";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const KID = "bfbd5111-8e33-4643-8ced-b2e642a72f3c";
const TARGET = "https://production.plaid.com/webhook_verification_key/get";
const BODY = '{\n  "webhook_code": "DEFAULT_UPDATE"\n}';
const PARAMETERS = { clientId: "5f0c2a3b4d5e6f7a8b9c0d1e" };

function token(header: object = {}, claims: object = {}, key: KeyObject = privateKey): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "ES256", kid: KID, typ: "JWT", ...header })}.${part({ iat: NOW / 1_000, request_body_sha256: hash("sha256", BODY), ...claims })}`;
  return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

function route(more: Route = {}): Route {
  return { parameters: PARAMETERS, material: { id: `${TARGET}#${KID}`, publicKey }, ...more };
}

function verdictOf(jwt: string, more: Route = {}, body = BODY): string {
  return outcome("plaid", { body, headers: { "plaid-verification": jwt } }, route(more));
}

describe("plaid", () => {
  it("accepts a token over the body's hash", () => {
    expect(verdictOf(token())).toBe("accepted");
  });

  it.each([
    ["SignatureMismatch", "another body", token(), `${BODY}\n`],
    ["SignatureMismatch", "no hash", token({}, { request_body_sha256: undefined }), BODY],
    ["TimestampExpired", "an old token", token({}, { iat: NOW / 1_000 - 301 }), BODY],
    ["TimestampInFuture", "a token of the future", token({}, { iat: NOW / 1_000 + 301 }), BODY],
    [
      "SignatureMismatch",
      "another key",
      token({}, {}, generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey),
      BODY,
    ],
  ])("refuses with %s %s", (reason, _what, jwt, body) => {
    expect(verdictOf(jwt, {}, body)).toBe(reason);
  });

  it.each([{ alg: "none" }, { alg: "HS256" }, { alg: "ES384" }, { kid: undefined }])(
    "refuses a header with %o",
    (header) => {
      expect(verdictOf(token(header))).toBe("SignatureMalformed");
    },
  );

  it("refuses a key that has expired, and one that was not asked for", () => {
    const id = `${TARGET}#${KID}`;
    expect(verdictOf(token(), { material: { id, publicKey, notAfter: NOW - 1 } })).toBe("CertificateUntrusted");
    expect(verdictOf(token(), { material: { id: `${TARGET}#other`, publicKey } })).toBe("MaterialUnavailable");
  });

  it.each([
    ["production", {}],
    ["production", { environment: "production" }],
    ["sandbox", { environment: "sandbox" }],
  ])("asks %s for the key of the token, with the client's secret in the body only", (host, more) => {
    const request = requestOf({ body: BODY, headers: { "plaid-verification": token() } });
    const wanted = verifierOf("plaid", { parameters: { ...PARAMETERS, ...more } }).needs?.(request);
    if (!wanted || "ok" in wanted) throw new Error("asks for no key");
    const url = `https://${host}.plaid.com/webhook_verification_key/get`;
    expect(wanted).toMatchObject({
      kind: "jwk",
      url,
      id: `${url}#${KID}`,
      jwkAt: "/key",
      expiredAt: "/key/expired_at",
    });
    const credential = { id: "00000000", state: "current", secret: Secret.of("s3cret") } as const;
    expect(wanted.body?.([credential])).toEqual({ client_id: PARAMETERS.clientId, secret: "s3cret", key_id: KID });
    expect(JSON.stringify(wanted)).not.toContain("s3cret");
  });

  it.each([{ clientId: "x", environment: "evil.example/" }, { clientId: "a b" }, {}])(
    "makes no verifier with %o",
    (parameters) => {
      expect(() => verifierOf("plaid", { parameters })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^Parameter/) }),
      );
    },
  );

  it("cannot be imitated", () => {
    expect(() => signed("plaid", { body: BODY }, { ...route(), keys: ["x"] })).toThrow(
      expect.objectContaining({ code: "CannotSign", message: expect.stringContaining("private key") }),
    );
  });
});
