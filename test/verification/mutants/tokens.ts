import { createHmac, createPublicKey, type JsonWebKey } from "node:crypto";
import type { Vector } from "../../support/vectors.ts";
import type { Mutation } from "./mutation.ts";

/** The header that carries a JSON Web Token. */
const HEADERS: Readonly<Record<string, string>> = { "plaid-jwt": "plaid-verification", "monday-jwt": "authorization" };

/** Tokens with other algorithms, other claims and other signatures; those that can be signed are. */
export function tokenMutations(vector: Vector): readonly Mutation[] {
  const name = HEADERS[vector.scheme];
  if (name === undefined) return [];
  const token = String(vector.headers[name]);
  return tokens(vector, token).map(([what, changed]) => ({
    what: `token: ${what}`,
    changes: { headers: { ...vector.headers, [name]: changed } },
  }));
}

type Claims = Readonly<Record<string, unknown>>;
type Token = readonly [what: string, token: string];

function tokens(vector: Vector, token: string): readonly Token[] {
  const [head = "", claims = "", signature = ""] = token.split(".");
  const header = decoded(head);
  const body = decoded(claims);
  const withHeader = (changes: Claims) => `${encoded({ ...header, ...changes })}.${claims}.${signature}`;
  return [
    ["none without a signature", `${encoded({ ...header, alg: "none" })}.${claims}.`],
    ["none with the signature", withHeader({ alg: "none" })],
    ["None", `${encoded({ ...header, alg: "None" })}.${claims}.`],
    ...["HS256", "HS512", "ES256", "ES384", "RS256", "PS256", "", null, 7, ["ES256"]].map(
      (alg): Token => [`header says ${JSON.stringify(alg)}`, withHeader({ alg })],
    ),
    ["header without an algorithm", withHeader({ alg: undefined })],
    ["header with crit", withHeader({ crit: ["exp"] })],
    ["another key", withHeader({ kid: "another" })],
    ["no key", withHeader({ kid: undefined })],
    ["key of another type", withHeader({ kid: 7 })],
    ["without its signature", `${head}.${claims}.`],
    ["without its last part", `${head}.${claims}`],
    ["four parts", `${token}.x`],
    ["padded", `${token}==`],
    ["claims padded", `${head}.${claims}=.${signature}`],
    ["signature in base64", `${head}.${claims}.${Buffer.from(signature, "base64url").toString("base64")}`],
    ["signature of zeros", `${head}.${claims}.${Buffer.alloc(64).toString("base64url")}`],
    ["signature in DER", `${head}.${claims}.${der(Buffer.from(signature, "base64url")).toString("base64url")}`],
    ["Bearer before", `Bearer ${token}`],
    ["bearer before", `bearer ${token}`],
    ["Bearer twice", `Bearer Bearer ${token}`],
    ["claims changed", `${head}.${encoded({ ...body, iat: 1 })}.${signature}`],
    ["header is no JSON", `${Buffer.from("{").toString("base64url")}.${claims}.${signature}`],
    ["claims are a list", `${head}.${encoded([])}.${signature}`],
    ...(vector.scheme === "monday-jwt" ? resigned(vector, header, body) : confused(vector, header, claims)),
  ];
}

/** Signed with HMAC by the public key, in each way somebody may write it: right for a verifier that believes the header. */
function confused(vector: Vector, header: Claims, claims: string): readonly Token[] {
  const jwk = String(vector.secret);
  const key = createPublicKey({ key: JSON.parse(jwk) as JsonWebKey, format: "jwk" });
  const forms = [
    jwk,
    key.export({ type: "spki", format: "pem" }).toString(),
    key.export({ type: "spki", format: "pem" }).toString().trim(),
    key.export({ type: "spki", format: "der" }),
    "",
  ];
  return forms.map((form, index) => [
    `HS256 with the public key, form ${index}`,
    signed({ ...header, alg: "HS256" }, claims, form),
  ]);
}

/** With other claims, and signed with the right secret. */
function resigned(vector: Vector, header: Claims, claims: Claims): readonly Token[] {
  const secret = String(vector.secret);
  const now = vector.now ?? 0;
  const anew = (what: string, changes: Claims): Token => [
    what,
    signed(header, encoded({ ...claims, ...changes }), secret),
  ];
  return [
    anew("signed anew", {}),
    anew("without exp", { exp: undefined }),
    anew("exp as text", { exp: String(now + 300) }),
    anew("exp null", { exp: null }),
    anew("exp now", { exp: now }),
    anew("exp in a second", { exp: now + 1 }),
    anew("exp a second ago", { exp: now - 1 }),
    anew("exp negative", { exp: -1 }),
    anew("other claims", { accountId: 2 }),
    ["HS512 with the secret", signed({ ...header, alg: "HS512" }, encoded(claims), secret, "sha512")],
    ["HS256, signed with SHA-512", signed(header, encoded(claims), secret, "sha512")],
    ["header says none, signed", signed({ ...header, alg: "none" }, encoded(claims), secret)],
    ["signed with an empty secret", signed(header, encoded(claims), "")],
    ["claims are a list, signed", signed(header, encoded([claims]), secret)],
    ["header without typ, signed", signed({ alg: "HS256" }, encoded(claims), secret)],
    ["header with crit, signed", signed({ ...header, crit: ["x"] }, encoded(claims), secret)],
  ];
}

function signed(header: Claims, claims: string, secret: string | Buffer, hash = "sha256"): string {
  const content = `${encoded(header)}.${claims}`;
  return `${content}.${createHmac(hash, secret).update(content).digest("base64url")}`;
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decoded(part: string): Claims {
  return JSON.parse(Buffer.from(part, "base64url").toString("utf8")) as Claims;
}

/** Two numbers as X.509 writes them, where a token has them side by side. */
function der(pair: Buffer): Buffer {
  const half = pair.length >> 1;
  const integers = [pair.subarray(0, half), pair.subarray(half)].map((number) =>
    Buffer.concat([Buffer.from([2, number.length + 1, 0]), number]),
  );
  const content = Buffer.concat(integers);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}
