import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { JwtConfig, VerifierOptions } from "../config.ts";
import type { Material, MaterialRequest } from "../material.ts";
import { keysOf, plainRequest } from "../vectors.ts";
import { verifierOf } from "../verifier.ts";

const NOW = 1_760_000_000_000;
const IAT = NOW / 1_000;
const BODY = Buffer.from('{"a":1}');
const SHA = createHash("sha256").update(BODY).digest("hex");
const SECRET = "signing-secret";

const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });

const HS: JwtConfig = { type: "jwt", header: "Authorization", algorithm: "HS256", timeClaim: "exp" };
const wanted = (kid: string): MaterialRequest => ({ kind: "jwk", url: "https://keys.example/get", id: `keys#${kid}` });
const ES: JwtConfig = {
  type: "jwt",
  header: "x-jwt",
  algorithm: "ES256",
  bodyHashClaim: "sha",
  timeClaim: "iat",
  key: wanted,
};
const ES_HEADER = { alg: "ES256", kid: "k1", typ: "JWT" };
const MATERIAL: Material = { id: "keys#k1", publicKey: p256.publicKey };

const encode = (part: unknown) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
const input = (header: unknown, claims: unknown) => `${encode(header)}.${encode(claims)}`;
const hs = (header: unknown, claims: unknown, key: string | Buffer = SECRET) => {
  const text = input(header, claims);
  return `${text}.${createHmac("sha256", key).update(text).digest("base64url")}`;
};
const es = (header: unknown, claims: unknown, key: KeyObject = p256.privateKey) => {
  const text = input(header, claims);
  return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
};

interface Sent {
  readonly token?: string | readonly string[];
  readonly body?: Buffer;
  readonly now?: number;
  readonly material?: Material;
  readonly keys?: readonly string[];
  readonly options?: VerifierOptions;
}

function judge(config: JwtConfig, { token, body = BODY, now = NOW, material, keys = [SECRET], options }: Sent) {
  const headers = token === undefined ? {} : { [config.header]: token };
  const request = plainRequest({ method: "POST", url: "", path: "/", headers, body });
  return verifierOf(config, options).verify(request, keysOf(keys), now, material);
}

const answer = (config: JwtConfig, sent: Sent) => {
  const verdict = judge(config, sent);
  return verdict.ok ? "ok" : `${verdict.status} ${verdict.reason}`;
};

const HEADER = { alg: "HS256", typ: "JWT" };
const CLAIMS = { exp: IAT + 300, iat: IAT };
const right = hs(HEADER, CLAIMS);

describe("a token with a shared secret", () => {
  it("is accepted, and, if it has an id, good for one body only as long as it lives: it does not cover it", () => {
    const named = hs(HEADER, { ...CLAIMS, jti: "t-1" });
    for (const body of ["{}", "[]"]) {
      const verdict = judge(HS, { token: named, body: Buffer.from(body) });
      expect(verdict).toMatchObject({ ok: true, key: { id: "00000000" }, nonce: "t-1", nonceGoodForMs: 360_000 });
    }
    expect(judge(HS, { token: named, now: NOW + 299_000 })).toMatchObject({ nonceGoodForMs: 61_000 });
    const endless = judge(HS, { token: hs(HEADER, { exp: Number.MAX_SAFE_INTEGER, jti: "t-1" }) });
    expect(endless).toMatchObject({ nonceGoodForMs: 400 * 86_400_000 });
  });

  it("without an id may be that of several events of one second, and is held to no body", () => {
    for (const claims of [CLAIMS, { ...CLAIMS, jti: "" }, { ...CLAIMS, jti: 1 }]) {
      const verdict = judge(HS, { token: hs(HEADER, claims) });
      expect(verdict).toMatchObject({ ok: true });
      expect(verdict).not.toHaveProperty("nonce");
    }
  });

  const [head = "", payload = "", mac = ""] = right.split(".");
  it.each([
    ["is missing", undefined, "400 HeaderMissing"],
    ["is empty", "", "400 HeaderMissing"],
    ["was sent twice", [right, right], "401 SignatureMalformed"],
    ["has two parts", `${head}.${payload}`, "401 SignatureMalformed"],
    ["has four parts", `${right}.`, "401 SignatureMalformed"],
    ["has no signature", `${head}.${payload}.`, "401 SignatureMalformed"],
    ["has a blank before it", ` ${right}`, "401 SignatureMalformed"],
    ["is padded", `${right}=`, "401 SignatureMalformed"],
    ["has stray bits in its last character", right.slice(0, -1) + nextInClass(mac), "401 SignatureMalformed"],
    ["is longer than any", `${head}.${"A".repeat(9_000)}.${mac}`, "401 SignatureMalformed"],
    ["is signed with another secret", hs(HEADER, CLAIMS, "other"), "401 SignatureMismatch"],
    ["says none", hs({ alg: "none" }, CLAIMS), "401 SignatureMalformed"],
    ["says none and has no signature", `${input({ alg: "none" }, CLAIMS)}.`, "401 SignatureMalformed"],
    ["says another algorithm", hs({ alg: "HS512" }, CLAIMS), "401 SignatureMalformed"],
    ["says its algorithm in another case", hs({ alg: "hs256" }, CLAIMS), "401 SignatureMalformed"],
    ["says none at all", hs({ typ: "JWT" }, CLAIMS), "401 SignatureMalformed"],
    ["says a list", hs({ alg: ["HS256"] }, CLAIMS), "401 SignatureMalformed"],
    ["has crit", hs({ ...HEADER, crit: ["exp"] }, CLAIMS), "401 SignatureMalformed"],
    ["has a header that is no object", hs([HEADER], CLAIMS), "401 SignatureMalformed"],
    ["has claims that are no object", hs(HEADER, "null"), "401 SignatureMalformed"],
    ["has claims that are no JSON", hs(HEADER, "{exp:1}"), "401 SignatureMalformed"],
    ["has no exp", hs(HEADER, { iat: IAT }), "400 TimestampMalformed"],
    ["has an exp that is text", hs(HEADER, { exp: String(IAT + 300) }), "400 TimestampMalformed"],
    ["has an exp that is no whole number", hs(HEADER, { exp: IAT + 0.5 }), "400 TimestampMalformed"],
    ["has an exp beyond all numbers", hs(HEADER, '{"exp":1e400}'), "400 TimestampMalformed"],
    ["has an nbf that is text", hs(HEADER, { ...CLAIMS, nbf: "1" }), "400 TimestampMalformed"],
    ["is not good yet", hs(HEADER, { ...CLAIMS, nbf: IAT + 1 }), "401 TimestampInFuture"],
    ["expires now", hs(HEADER, { exp: IAT }), "401 TimestampExpired"],
    ["expires in a second", hs(HEADER, { exp: IAT + 1 }), "ok"],
  ])("%s", (_name, token, expected) => {
    expect(answer(HS, token === undefined ? {} : { token })).toBe(expected);
  });

  it("may stand behind a prefix, which may be left out where that is said", () => {
    const bearer: JwtConfig = { ...HS, prefix: "Bearer " };
    expect(answer(bearer, { token: `Bearer ${right}` })).toBe("ok");
    expect(answer(bearer, { token: `bearer ${right}` })).toBe("401 SignatureMalformed");
    expect(answer(bearer, { token: right })).toBe("401 SignatureMalformed");
    expect(answer({ ...bearer, prefixOptional: true }, { token: right })).toBe("ok");
  });

  it("is what the scheme sends", () => {
    for (const config of [HS, { ...HS, prefix: "Bearer ", timeClaim: "iat", bodyHashClaim: "sha" } as const]) {
      const parts = { method: "POST", url: "", path: "/", body: BODY, id: "1" };
      const token = verifierOf(config).sign(parts, keysOf([SECRET]), NOW).headers["authorization"] ?? "";
      expect(answer(config, { token })).toBe("ok");
    }
    expect(() => verifierOf(HS).sign({ method: "", url: "", path: "", body: BODY, id: "" }, [], NOW)).toThrowError(
      expect.objectContaining({ code: "CannotSign" }),
    );
  });
});

/** The last character of 32 bytes carries 4 bits, so 4 characters decode to one value. */
function nextInClass(text: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return alphabet[alphabet.indexOf(text.at(-1) ?? "") + 1] ?? "";
}

describe("a token with a public key of the provider", () => {
  const claims = { iat: IAT, sha: SHA };
  const token = es(ES_HEADER, claims);

  it("says which key it needs, and is accepted with it", () => {
    const verifier = verifierOf(ES);
    const request = plainRequest({ method: "POST", url: "", path: "/", headers: { "x-jwt": token }, body: BODY });
    expect(verifier.needs?.(request)).toEqual(wanted("k1"));
    const verdict = verifier.verify(request, [], NOW, MATERIAL);
    expect(verdict).toMatchObject({ ok: true, key: undefined, signedAt: NOW });
    expect(verdict.ok && verdict.nonce).toBeUndefined();
  });

  it.each([
    ["without kid", { alg: "ES256" }],
    ["with a kid that is no text", { alg: "ES256", kid: 1 }],
    ["with a kid that could be anything", { alg: "ES256", kid: "a\nb" }],
    ["with a kid longer than any", { alg: "ES256", kid: "k".repeat(257) }],
    ["with another algorithm", { alg: "HS256", kid: "k1" }],
  ])("asks for nothing %s", (_name, header) => {
    const headers = { "x-jwt": es(header, claims) };
    const request = plainRequest({ method: "POST", url: "", path: "/", headers, body: BODY });
    expect(verifierOf(ES).needs?.(request)).toMatchObject({ ok: false, status: 401, reason: "SignatureMalformed" });
    expect(verifierOf(ES).verify(request, [], NOW, MATERIAL)).toMatchObject({
      ok: false,
      reason: "SignatureMalformed",
    });
  });

  it.each([
    ["without the key", token, undefined, "503 MaterialUnavailable"],
    ["with the key of another kid", token, { ...MATERIAL, id: "keys#k2" }, "503 MaterialUnavailable"],
    ["with a key that has expired", token, { ...MATERIAL, notAfter: NOW - 1 }, "401 CertificateUntrusted"],
    ["with a key of the future", token, { ...MATERIAL, notBefore: NOW + 1 }, "401 CertificateUntrusted"],
    ["with a key of another curve", token, { ...MATERIAL, publicKey: p384.publicKey }, "401 CertificateUntrusted"],
    ["with a key of RSA", token, { ...MATERIAL, publicKey: rsa.publicKey }, "401 CertificateUntrusted"],
    ["signed by another key", es(ES_HEADER, claims, otherKey()), MATERIAL, "401 SignatureMismatch"],
    ["whose signature is DER", derSigned(ES_HEADER, claims), MATERIAL, "401 SignatureMismatch"],
    ["over another body", es(ES_HEADER, { iat: IAT, sha: "0".repeat(64) }), MATERIAL, "401 SignatureMismatch"],
    [
      "over a body in upper case",
      es(ES_HEADER, { iat: IAT, sha: SHA.toUpperCase() }),
      MATERIAL,
      "401 SignatureMismatch",
    ],
    ["over no body", es(ES_HEADER, { iat: IAT }), MATERIAL, "401 SignatureMismatch"],
    ["of 300 s ago", es(ES_HEADER, { iat: IAT - 300, sha: SHA }), MATERIAL, "ok"],
    ["of 301 s ago", es(ES_HEADER, { iat: IAT - 301, sha: SHA }), MATERIAL, "401 TimestampExpired"],
    ["of 301 s ahead", es(ES_HEADER, { iat: IAT + 301, sha: SHA }), MATERIAL, "401 TimestampInFuture"],
    ["with an iat that is text", es(ES_HEADER, { iat: String(IAT), sha: SHA }), MATERIAL, "400 TimestampMalformed"],
    ["that says it has expired", es(ES_HEADER, { ...claims, exp: IAT }), MATERIAL, "401 TimestampExpired"],
  ] satisfies readonly (readonly [string, string, Material | undefined, string])[])(
    "%s",
    (_name, sent, material, expected) => {
      expect(answer(ES, { token: sent, ...(material && { material }) })).toBe(expected);
    },
  );

  it("is refused when its public key was taken for an HMAC secret", () => {
    const pem = p256.publicKey.export({ type: "spki", format: "pem" });
    expect(answer(ES, { token: hs({ alg: "HS256", kid: "k1" }, claims, pem), material: MATERIAL })).toBe(
      "401 SignatureMalformed",
    );
    expect(answer(ES, { token: hs(ES_HEADER, claims, pem), material: MATERIAL })).toBe("401 SignatureMismatch");
  });

  it("has one canonical signature, whatever was drawn for it", () => {
    const verdicts = [token, es(ES_HEADER, claims)].map((one) => judge(ES, { token: one, material: MATERIAL }));
    const [first, second] = verdicts.map((verdict) => verdict.ok && verdict.signature);
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(second).toBe(first);
  });

  it("may have its key in the Secret, as PEM or as JWK", () => {
    const { key: _, ...inSecret } = ES;
    const pem = String(p256.publicKey.export({ type: "spki", format: "pem" }));
    const jwk = JSON.stringify(p256.publicKey.export({ format: "jwk" }));
    for (const secret of [pem, jwk]) expect(answer(inSecret, { token, keys: [secret] })).toBe("ok");
    for (const secret of ["", "nonsense", "{}", String(rsa.publicKey.export({ type: "spki", format: "pem" }))]) {
      expect(answer(inSecret, { token, keys: [secret] })).toBe("503 NoUsableKey");
    }
  });

  it("by RSA is checked with an RSA key only", () => {
    const config: JwtConfig = { type: "jwt", header: "x-jwt", algorithm: "RS256", timeClaim: "iat" };
    const text = input({ alg: "RS256" }, { iat: IAT });
    const signed = `${text}.${sign("sha256", Buffer.from(text), rsa.privateKey).toString("base64url")}`;
    const pem = String(rsa.publicKey.export({ type: "spki", format: "pem" }));
    expect(answer(config, { token: signed, keys: [pem] })).toBe("ok");
    expect(answer(config, { token: es({ alg: "RS256" }, { iat: IAT }), keys: [pem] })).toBe("401 SignatureMismatch");
  });

  it("cannot be signed by us", () => {
    const parts = { method: "POST", url: "", path: "/", body: BODY, id: "1" };
    expect(() => verifierOf(ES).sign(parts, keysOf([SECRET]), NOW)).toThrowError(
      expect.objectContaining({ code: "CannotSign" }),
    );
  });
});

function otherKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

function derSigned(header: unknown, claims: unknown): string {
  const text = input(header, claims);
  return `${text}.${sign("sha256", Buffer.from(text), p256.privateKey).toString("base64url")}`;
}
