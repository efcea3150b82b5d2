import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { jwsSigningInput } from "../../jws.ts";
import { keysOf, plainRequest } from "../../vectors.ts";
import { createVerifier } from "../../verifier.ts";

const verifier = createVerifier({ type: "provider", provider: "wix" });
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const PEM = publicKey.export({ format: "pem", type: "spki" }).toString();
const NOW = 1_760_000_000_000;
const CLAIMS = {
  data: JSON.stringify({ eventType: "wix.ecom.v1.order_created", data: "{}" }),
  iat: NOW / 1_000,
  exp: NOW / 1_000 + 60,
};

function token(header: Readonly<Record<string, unknown>> = { alg: "RS256" }, claims: object = CLAIMS): string {
  const input = jwsSigningInput(header, claims as Readonly<Record<string, unknown>>);
  return `${input}.${sign("sha256", Buffer.from(input), privateKey).toString("base64url")}`;
}

const verify = (body: string, now = NOW, secrets: readonly string[] = [PEM]) =>
  verifier.verify(
    plainRequest({ method: "POST", url: "", path: "/", headers: {}, body: Buffer.from(body) }),
    keysOf(secrets),
    now,
  );

describe("a body that is a token of Wix", () => {
  it("is accepted until it expires, also when it is long", () => {
    expect(verify(token())).toMatchObject({ ok: true });
    expect(verify(token(undefined, { ...CLAIMS, data: "x".repeat(50_000) }))).toMatchObject({ ok: true });
    expect(verify(token(), NOW + 60_000)).toMatchObject({ status: 401, reason: "TimestampExpired" });
  });

  it("is refused when it was changed or signed by somebody else", () => {
    const [head, , mac] = token().split(".") as [string, string, string];
    const other = Buffer.from(JSON.stringify({ ...CLAIMS, data: "{}" })).toString("base64url");
    expect(verify(`${head}.${other}.${mac}`)).toMatchObject({ status: 401, reason: "SignatureMismatch" });
    const stranger = generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey;
    const pem = stranger.export({ format: "pem", type: "spki" }).toString();
    expect(verify(token(), NOW, [pem])).toMatchObject({ reason: "SignatureMismatch" });
    expect(verify(token(), NOW, [pem, PEM])).toMatchObject({ ok: true, key: { id: "00000001" } });
  });

  it("may not choose its algorithm", () => {
    for (const alg of ["none", "HS256", "ES256", "RS512"])
      expect(verify(token({ alg }))).toMatchObject({ status: 401, reason: "SignatureMalformed" });
  });

  it("must be a token and nothing else", () => {
    for (const body of [`${token()}\n`, `{"jwt":"${token()}"}`, "a.b", "a.b.c"])
      expect(verify(body)).toMatchObject({ status: 401, reason: "SignatureMalformed" });
    expect(verify("")).toMatchObject({ status: 400, reason: "SignatureMissing" });
    expect(verify(token(undefined, { data: "{}" }))).toMatchObject({ status: 400, reason: "TimestampMalformed" });
    expect(verify(token(), NOW, ["no key"])).toMatchObject({ reason: "NoUsableKey" });
  });
});
