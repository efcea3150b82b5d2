import type { HmacConfig } from "../config.ts";
import { DIGEST_BYTES, hmacKeyOf } from "../hmac-keys.ts";
import { digestAlgorithm } from "../signature/digest-algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** HMAC over parts of the request (RFC 2104). */
export const hmacKind: SchemeKind<HmacConfig> = signatureKind((config) =>
  digestAlgorithm(config, {
    name: `HMAC-${config.algorithm.toUpperCase()}`,
    bytes: DIGEST_BYTES[config.algorithm],
    prepare: (secret) => hmacKeyOf(config.algorithm, secret, config.secretEncoding),
    digest: (key, content, encoding) => key.digestText(content, encoding),
  }),
);
