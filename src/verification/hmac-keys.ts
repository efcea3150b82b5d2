import { type HmacAlgorithm, HmacKey } from "../lib/hmac.ts";
import type { Secret } from "../lib/secret.ts";
import type { SecretEncoding } from "./config.ts";
import { decodeSecret } from "./encoding.ts";

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
