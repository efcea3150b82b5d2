import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { HmacKey } from "../../lib/hmac.ts";
import type { Secret } from "../../lib/secret.ts";
import { decodeKey } from "../encoding.ts";
import { ed25519PublicKey } from "../public-keys.ts";

/** DER before the seed of an ed25519 private key (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** A key of Standard Webhooks. It answers for its own version only. */
export type StandardWebhooksKey =
  | { readonly version: "v1"; readonly key: HmacKey }
  | { readonly version: "v1a"; readonly key: KeyObject; readonly signing: KeyObject | undefined };

/**
 * Reads a secret: `whsec_<base64>`, the same without prefix, or `v1,whsec_<base64>` as Supabase shows it; `whpk_<base64>` is a public key of 32 bytes,
 * `whsk_<base64>` a private one of 64 (seed, then public key), which can also sign.
 */
export function readStandardWebhooksKey(secret: Secret): StandardWebhooksKey | undefined {
  const text = secret.reveal().toString("latin1");
  if (text.startsWith("whpk_")) return publicKey(decodeKey(text.slice(5)));
  if (text.startsWith("whsk_")) return privateKey(decodeKey(text.slice(5)));
  const bytes = decodeKey(text.replace(/^(v1,)?whsec_/, ""));
  return bytes && { version: "v1", key: new HmacKey("sha256", bytes) };
}

function publicKey(raw: Buffer | undefined): StandardWebhooksKey | undefined {
  const key = ed25519PublicKey(raw);
  return key && { version: "v1a", key, signing: undefined };
}

function privateKey(raw: Buffer | undefined): StandardWebhooksKey | undefined {
  if (raw?.length !== 64) return undefined;
  const der = Buffer.concat([PKCS8_PREFIX, raw.subarray(0, 32)]);
  const signing = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { version: "v1a", key: createPublicKey(signing), signing };
}
