import { hash } from "node:crypto";
import type { PrefixHashConfig } from "../config.ts";
import { contentBytes } from "../content.ts";
import { decodeSecret } from "../encoding.ts";
import { DIGEST_BYTES } from "../hmac-keys.ts";
import { refuse } from "../refusal.ts";
import { digestAlgorithm } from "../signature/digest-algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import type { SchemeKind } from "./scheme-kind.ts";

const signed: SchemeKind<PrefixHashConfig> = signatureKind((config) =>
  digestAlgorithm(config, {
    name: `${config.algorithm.toUpperCase()} of secret and content`,
    bytes: DIGEST_BYTES[config.algorithm],
    prepare: (secret) => decodeSecret(secret.reveal(), config.secretEncoding ?? "raw"),
    digest: (secret, content, encoding) => hash(config.algorithm, contentBytes([secret, ...content]), encoding),
  }),
);

/**
 * A hash over secret and content one behind the other, as HubSpot's signatures v1 and v2. Whoever saw one request can sign its body with more behind it, but only
 * over the hash's padding, 0x80 and zeros (FIPS 180-4 §5.1), which stands in no text of UTF-8 behind a whole character, and in no JSON: the body must be JSON, or
 * empty.
 */
export const prefixHashKind: SchemeKind<PrefixHashConfig> = {
  ...signed,
  create(config, options) {
    const verifier = signed.create(config, options);
    return {
      ...verifier,
      verify(request, keys, now) {
        const verdict = verifier.verify(request, keys, now);
        if (!verdict.ok || request.body.length === 0 || request.json().ok) return verdict;
        return refuse(
          "SignatureMismatch",
          "the body is no JSON in UTF-8, so that more may have been put behind what was signed",
        );
      },
    };
  },
};
