import { hash } from "node:crypto";
import { equals } from "../../lib/equals.ts";
import type { Content, PrefixHashConfig } from "../config.ts";
import { contentBytes } from "../content.ts";
import { decodeSecret } from "../encoding.ts";
import { DIGEST_BYTES } from "../hmac-ring.ts";
import type { SignatureAlgorithm } from "../signature/algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import type { SchemeKind } from "./scheme-kind.ts";

const MAX_SIGNATURES = 20;

/** A hash over secret and content one behind the other, as HubSpot's signatures v1 and v2. */
export const prefixHashKind: SchemeKind<PrefixHashConfig> = signatureKind(prefixHashAlgorithm);

function prefixHashAlgorithm({ algorithm, secretEncoding = "raw" }: PrefixHashConfig): SignatureAlgorithm<Buffer> {
  const digestOf = (secret: Buffer, content: Content) => hash(algorithm, contentBytes([secret, ...content]), "buffer");
  return {
    name: `${algorithm.toUpperCase()} of secret and content`,
    bytes: DIGEST_BYTES[algorithm],
    fixedLength: true,
    maxSignatures: MAX_SIGNATURES,
    prepare: (secret) => decodeSecret(secret.reveal(), secretEncoding),
    match(secret, content, signatures) {
      const digest = digestOf(secret, content);
      return signatures.some((signature) => equals(signature, digest)) ? digest : undefined;
    },
    sign: digestOf,
  };
}
