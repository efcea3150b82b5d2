import { equals } from "../lib/equals.ts";
import { type HmacAlgorithm, HmacKey } from "../lib/hmac.ts";
import type { Secret } from "../lib/secret.ts";
import type { Content, SecretEncoding } from "./config.ts";
import { decodeSecret } from "./encoding.ts";
import { keyRingCache, type KeyRing, type PreparedKey } from "./keys.ts";
import type { VerificationKey } from "./types.ts";

/** Length of each digest in bytes. */
export const DIGEST_BYTES: Readonly<Record<HmacAlgorithm, number>> = {
  md5: 16,
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};

/** The HMAC key that a Secret's value stands for; `undefined` when it is not written in this encoding. */
export function hmacKeyOf(
  algorithm: HmacAlgorithm,
  secret: Secret,
  encoding: SecretEncoding = "raw",
): HmacKey | undefined {
  const bytes = decodeSecret(secret.reveal(), encoding);
  return bytes && new HmacKey(algorithm, bytes);
}

/** A ring whose keys make HMACs, each prepared once. */
export function hmacRing(algorithm: HmacAlgorithm, encoding: SecretEncoding = "raw"): KeyRing<HmacKey> {
  return keyRingCache((secret) => hmacKeyOf(algorithm, secret, encoding));
}

/**
 * The first key under which one of the signatures is right for the content, with the digest. Text in the content is latin1.
 *
 * @param signatures decoded; one of another length never matches
 */
export function findHmac(
  keys: readonly PreparedKey<HmacKey>[],
  content: Content,
  signatures: readonly Buffer[],
): { readonly key: VerificationKey; readonly digest: Buffer } | undefined {
  for (const { key, material } of keys) {
    const digest = material.digest(content);
    if (signatures.some((signature) => equals(signature, digest))) return { key, digest };
  }
  return undefined;
}
