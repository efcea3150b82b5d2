import { equals } from "../../lib/equals.ts";
import type { Secret } from "../../lib/secret.ts";
import type { Content, SignatureConfig } from "../config.ts";
import { digestEncodingOf, digestForm, textEncoding } from "../encoding.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";

/** Signatures of one request that are compared; each costs no more than reading it. */
const MAX_SIGNATURES = 20;

/** A digest that both sides make with the same secret. */
export interface DigestMaker<M> {
  readonly name: string;
  readonly bytes: number;
  readonly prepare: (secret: Secret) => M | undefined;
  readonly digest: (material: M, content: Content, encoding: "hex" | "base64" | "base64url") => string;
}

/** Signatures that are made anew and compared, as text: nothing that was sent is decoded, and there is one text for each digest. */
export function digestAlgorithm<M>(config: SignatureConfig, maker: DigestMaker<M>): SignatureAlgorithm<M, string> {
  const written = digestEncodingOf(config);
  const encoding = textEncoding(written);
  return {
    name: maker.name,
    ...digestForm(written, maker.bytes),
    form: `${maker.bytes} bytes in ${written === "hex-lower" ? "lower-case hex" : written}`,
    maxSignatures: MAX_SIGNATURES,
    prepare: maker.prepare,
    match(material, content, signatures) {
      const digest = maker.digest(material, content, encoding);
      for (const signature of signatures) if (equals(signature, digest)) return digest;
      return undefined;
    },
    sign: (material, content) => maker.digest(material, content, encoding),
  };
}
