import { hash, type KeyObject, verify } from "node:crypto";
import type { PublicKeyConfig } from "../config.ts";
import { contentBytes } from "../content.ts";
import { isKeyOfType, readPublicKey, type PublicKeyType } from "../public-keys.ts";
import { decodeBytes, digestEncodingOf, textEncoding } from "../encoding.ts";
import type { SignatureAlgorithm } from "../signature/algorithm.ts";
import { signatureKind } from "../signature/scheme.ts";
import { cannotSign } from "../signer.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** Each costs up to 100 µs per key and content. */
const MAX_SIGNATURES = 4;

interface Form {
  readonly name: string;
  readonly keyType: PublicKeyType;
  /** As `crypto.verify` names it; ed25519 hashes by itself. */
  readonly digest: string | null;
  readonly bytes: number;
  readonly fixedLength: boolean;
}

/** Greatest length of a signature by RSA with 8,192 bits. */
const RSA_BYTES = 1_024;

const FORMS: Readonly<Record<PublicKeyConfig["algorithm"], Form>> = {
  ed25519: { name: "Ed25519", keyType: "ed25519", digest: null, bytes: 64, fixedLength: true },
  // A sequence of two integers of at most 33 bytes (RFC 3279 §2.2.3).
  "ecdsa-p256": { name: "ECDSA P-256 SHA-256", keyType: "p256", digest: "sha256", bytes: 72, fixedLength: false },
  "rsa-sha1": { name: "RSA SHA-1", keyType: "rsa", digest: "sha1", bytes: RSA_BYTES, fixedLength: false },
  "rsa-sha256": { name: "RSA SHA-256", keyType: "rsa", digest: "sha256", bytes: RSA_BYTES, fixedLength: false },
};

/** A signature that a public key of the provider checks (RFC 8032, FIPS 186-5 §6, RFC 8017 §8.2). */
export const publicKeyKind: SchemeKind<PublicKeyConfig> = signatureKind(publicKeyAlgorithm);

function publicKeyAlgorithm(config: PublicKeyConfig): SignatureAlgorithm<KeyObject, Buffer> {
  const { name, keyType, digest, bytes, fixedLength } = FORMS[config.algorithm];
  const encoding = digestEncodingOf(config);
  return {
    name,
    form: `${fixedLength ? "" : "at most "}${bytes} bytes in ${encoding}`,
    maxSignatures: MAX_SIGNATURES,
    prepare(secret) {
      const key = readPublicKey(secret.reveal(), config.keyFormat);
      return key && isKeyOfType(key, keyType) ? key : undefined;
    },
    read(text) {
      const signature = decodeBytes(text, encoding, bytes);
      return fixedLength && signature?.length !== bytes ? undefined : signature;
    },
    isWritten: () => true,
    match(key, content, signatures) {
      const signed = contentBytes(content);
      // Of an ECDSA signature anybody can make a second one that is valid as well, so the content stands for it.
      return signatures.some((signature) => verify(digest, signed, key, signature))
        ? hash("sha256", signed, textEncoding(encoding))
        : undefined;
    },
    sign() {
      throw cannotSign("only the provider has the private key");
    },
  };
}
