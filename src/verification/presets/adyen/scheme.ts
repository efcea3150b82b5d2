import { equals } from "../../../lib/equals.ts";
import type { HmacKey } from "../../../lib/hmac.ts";
import { isRecord } from "../../../lib/record.ts";
import { VerificationConfigError } from "../../config.ts";
import { decodeDigest, encodeDigest } from "../../encoding.ts";
import { hmacKeyOf } from "../../hmac-keys.ts";
import { keyRingCache, usableAt, type PreparedKey } from "../../keys.ts";
import { NO_USABLE_KEY, refuse, type Refusal } from "../../refusal.ts";
import { objectToSign, signerOf } from "../../signer.ts";
import type { Verdict, VerificationKey, Verifier } from "../../types.ts";
import { itemsOf, signedTexts, type AdyenItem } from "./items.ts";

const SHA256_BYTES = 32;

/** HMAC-SHA256 in base64 in each item of the body, under a key in hex. One item that does not verify refuses them all. */
export function adyenScheme(): Verifier {
  const ring = keyRingCache((secret) => hmacKeyOf("sha256", secret, "hex"));
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const body = request.json();
      const items = body.ok ? itemsOf(body.value) : undefined;
      if (!items) return refuse("SignatureMissing", "the body has no notificationItems, in which the signatures stand");
      return verifyItems(items, usable);
    },
    sign(input, keys, now) {
      const signer = signerOf(ring(keys), now).material;
      const body = objectToSign(input.body, "a notification of Adyen with notificationItems");
      return { headers: { ...input.headers }, body: Buffer.from(JSON.stringify(signItems(body, signer))) };
    },
  };
}

function verifyItems(items: readonly AdyenItem[], keys: readonly PreparedKey<HmacKey>[]): Verdict {
  const digests: string[] = [];
  let first: VerificationKey | undefined;
  for (const [index, item] of items.entries()) {
    const found = verifyItem(item, keys);
    if ("ok" in found) return { ...found, detail: `item ${index + 1} of ${items.length}: ${found.detail}` };
    first ??= found.key;
    digests.push(encodeDigest(found.digest, "base64"));
  }
  if (new Set(digests).size < digests.length) {
    return refuse("SignatureMalformed", "an item stands in the body twice, and Adyen sends each once");
  }
  // In any order it is the same notification, whatever else stands in the body.
  return { ok: true, key: first, signature: digests.toSorted().join(" ") };
}

function verifyItem(
  item: AdyenItem,
  keys: readonly PreparedKey<HmacKey>[],
): { readonly key: VerificationKey; readonly digest: Buffer } | Refusal {
  if (!item.signature) return refuse("SignatureMissing", "additionalData.hmacSignature is missing");
  const sent = decodeDigest(item.signature, "base64", SHA256_BYTES);
  if (!sent) return refuse("SignatureMalformed", "additionalData.hmacSignature is not 32 bytes in base64");
  const texts = signedTexts(item);
  if ("ok" in texts) return texts;
  for (const { key, material } of keys) {
    if (texts.some((text) => equals(sent, material.digest([text])))) return { key, digest: sent };
  }
  return refuse("SignatureMismatch", `additionalData.hmacSignature matches none of ${keys.length} key(s)`);
}

function signItems(body: Readonly<Record<string, unknown>>, key: HmacKey): unknown {
  const items = itemsOf(body);
  if (!items) throw new VerificationConfigError("CannotSign", "the body has no notificationItems to sign");
  const notificationItems = items.map((item) => ({ NotificationRequestItem: signItem(item, key) }));
  return { ...body, notificationItems };
}

function signItem(item: AdyenItem, key: HmacKey): unknown {
  const texts = signedTexts(item);
  if ("ok" in texts || !isRecord(item.fields)) {
    throw new VerificationConfigError("CannotSign", "a field of an item has a value that Adyen would not sign");
  }
  const { additionalData } = item.fields;
  const hmacSignature = encodeDigest(key.digest(texts.slice(0, 1)), "base64");
  return { ...item.fields, additionalData: { ...(isRecord(additionalData) && additionalData), hmacSignature } };
}
