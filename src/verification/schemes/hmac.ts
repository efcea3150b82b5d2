import type { HmacKey } from "../../lib/hmac.ts";
import type { HmacConfig } from "../config.ts";
import { DIGEST_BYTES, hmacKeyOf, matchHmac } from "../hmac-ring.ts";
import type { SignatureAlgorithm } from "../signature/algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** Signatures of one request that are compared; each costs no more than decoding it. */
const MAX_SIGNATURES = 20;

/** HMAC over parts of the request (RFC 2104). */
export const hmacKind: SchemeKind<HmacConfig> = signatureKind(hmacAlgorithm);

function hmacAlgorithm({ algorithm, secretEncoding }: HmacConfig): SignatureAlgorithm<HmacKey> {
  return {
    name: `HMAC-${algorithm.toUpperCase()}`,
    bytes: DIGEST_BYTES[algorithm],
    fixedLength: true,
    maxSignatures: MAX_SIGNATURES,
    prepare: (secret) => hmacKeyOf(algorithm, secret, secretEncoding),
    match: matchHmac,
    sign: (key, content) => key.digest(content),
  };
}
