import { hash } from "node:crypto";
import type { PrefixHashConfig } from "../config.ts";
import { contentBytes } from "../content.ts";
import { decodeSecret } from "../encoding.ts";
import { DIGEST_BYTES } from "../hmac-keys.ts";
import { digestAlgorithm } from "../signature/digest-algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** A hash over secret and content one behind the other, as HubSpot's signatures v1 and v2. */
export const prefixHashKind: SchemeKind<PrefixHashConfig> = signatureKind((config) =>
  digestAlgorithm(config, {
    name: `${config.algorithm.toUpperCase()} of secret and content`,
    bytes: DIGEST_BYTES[config.algorithm],
    prepare: (secret) => decodeSecret(secret.reveal(), config.secretEncoding ?? "raw"),
    digest: (secret, content, encoding) => hash(config.algorithm, contentBytes([secret, ...content]), encoding),
  }),
);
