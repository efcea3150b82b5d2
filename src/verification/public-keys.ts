import { createPublicKey, type KeyObject } from "node:crypto";
import { parseJson } from "../lib/json-source.ts";
import { isRecord } from "../lib/record.ts";
import type { PublicKeyConfig } from "./config.ts";
import { decodeBytes, decodeKey } from "./encoding.ts";

/** DER before a raw ed25519 public key (RFC 8410 §4). */
const ED25519_SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** RSA keys below this can be factored by a hobbyist. */
const MIN_RSA_BITS = 1_024;

/** Kinds of public keys that providers sign with. */
export type PublicKeyType = "ed25519" | "p256" | "rsa";

/** A public key of 32 raw bytes (RFC 8032). `undefined` for any other length. */
export function ed25519PublicKey(raw: Buffer | undefined): KeyObject | undefined {
  if (raw?.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([ED25519_SPKI, raw]), format: "der", type: "spki" });
}

/**
 * Reads a public key as its provider writes it.
 *
 * @returns `undefined` when the value is none
 */
export function readPublicKey(value: Buffer, format: PublicKeyConfig["keyFormat"] | "jwk"): KeyObject | undefined {
  try {
    return READERS[format](value);
  } catch {
    return undefined;
  }
}

const READERS: Readonly<Record<PublicKeyConfig["keyFormat"] | "jwk", (value: Buffer) => KeyObject | undefined>> = {
  "raw-hex": (value) => ed25519PublicKey(decodeBytes(value.toString("latin1").trim(), "hex", 32)),
  "spki-base64": (value) => {
    const key = decodeKey(value.toString("latin1").trim());
    return key && createPublicKey({ key, format: "der", type: "spki" });
  },
  pem: (value) => createPublicKey({ key: value, format: "pem" }),
  jwk: (value) => {
    const parsed = parseJson(value);
    if (!parsed.ok || !isRecord(parsed.value)) return undefined;
    return createPublicKey({ key: parsed.value, format: "jwk" });
  },
};

/** Whether a key is of this type, so that no key is ever used with an algorithm that it was not made for. */
export function isKeyOfType(key: KeyObject, type: PublicKeyType): boolean {
  if (key.type !== "public") return false;
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  switch (type) {
    case "ed25519":
      return asymmetricKeyType === "ed25519";
    case "p256":
      return asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === "prime256v1";
    default:
      return asymmetricKeyType === "rsa" && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS;
  }
}
