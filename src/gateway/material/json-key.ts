import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { parseJson, pointerTokens, valueAt } from "../../lib/json-source.ts";
import { isRecord } from "../../lib/record.ts";

const MIN_RSA_BITS = 2_048;

export type JsonKeyResult =
  | { readonly ok: true; readonly publicKey: KeyObject /** Unix ms. */; readonly notAfter?: number }
  | { readonly ok: false; readonly problem: "notJson" | "noKey" | "weak" };

/**
 * Reads a public key (JWK, RFC 7517) out of an answer: EC P-256, or RSA with at least 2,048 bits.
 *
 * @param at JSON pointers to the key (absent: the whole answer) and to the time after which it is no good, Unix seconds
 */
export function readJsonKey(
  body: Buffer,
  at: { readonly jwkAt?: string | undefined; readonly expiredAt?: string | undefined },
): JsonKeyResult {
  const parsed = parseJson(body);
  if (!parsed.ok) return { ok: false, problem: "notJson" };
  const jwk = at.jwkAt === undefined ? parsed.value : valueAt(parsed.value, pointerTokens(at.jwkAt));
  if (!isRecord(jwk)) return { ok: false, problem: "noKey" };
  const publicKey = keyOf(jwk);
  if (publicKey === undefined) return { ok: false, problem: "noKey" };
  if (!isAllowed(publicKey)) return { ok: false, problem: "weak" };
  const expiredAt = at.expiredAt === undefined ? undefined : valueAt(parsed.value, pointerTokens(at.expiredAt));
  return { ok: true, publicKey, ...(typeof expiredAt === "number" && { notAfter: expiredAt * 1_000 }) };
}

/** Only what a public key consists of: a private part that somebody published is not taken along. */
function keyOf({ kty, crv, x, y, n, e }: Readonly<Record<string, unknown>>): KeyObject | undefined {
  const key = kty === "EC" ? { kty, crv, x, y } : { kty, n, e };
  try {
    return createPublicKey({ key: key as JsonWebKey, format: "jwk" });
  } catch {
    return undefined;
  }
}

function isAllowed({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType === "ec") return asymmetricKeyDetails?.namedCurve === "prime256v1";
  return asymmetricKeyType === "rsa" && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS;
}
