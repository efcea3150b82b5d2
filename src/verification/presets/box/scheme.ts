import { equals } from "../../../lib/equals.ts";
import { DEFAULT_TOLERANCE_MS, type VerifierOptions } from "../../config.ts";
import { decodeDigest, encodeDigest } from "../../encoding.ts";
import { hmacKeyOf } from "../../hmac-keys.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, type Refusal } from "../../refusal.ts";
import { signerOf } from "../../signer.ts";
import { checkTimestamp, formatTimestamp, parseTimestamp } from "../../timestamp.ts";
import type { SignedRequest, VerificationKey, Verifier } from "../../types.ts";

const SHA256_BYTES = 32;

const VERSION = "box-signature-version";
const ALGORITHM = "box-signature-algorithm";
const TIMESTAMP = "box-delivery-timestamp";

/** The two keys of an app. Each signs a header of its own. */
type Slot = "primary" | "secondary";
const SLOTS = ["primary", "secondary"] as const;
const HEADER: Readonly<Record<Slot, string>> = {
  primary: "box-signature-primary",
  secondary: "box-signature-secondary",
};

interface Claims {
  readonly timestamp: string;
  readonly signedAt: number;
  readonly signatures: Readonly<Partial<Record<Slot, Buffer>>>;
}

/**
 * HMAC-SHA256 in base64 over body and timestamp, once with each of two keys: https://developer.box.com/guides/webhooks/v2/signatures-v2/. One that
 * matches is enough, so that keys can be changed one by one.
 */
export function boxScheme({ toleranceMs = DEFAULT_TOLERANCE_MS }: VerifierOptions): Verifier {
  const ring = keyRingCache((secret) => hmacKeyOf("sha256", secret));
  return {
    secretHeaders: Object.values(HEADER),
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      const late = checkTimestamp(claims.signedAt, now, toleranceMs, "rfc3339");
      if (late) return late;
      for (const { key, material } of usable) {
        const digest = material.digest([request.body, claims.timestamp]);
        const isMatch = slotsOf(key, keys).some((slot) => isSame(claims.signatures[slot], digest));
        if (isMatch) return { ok: true, key, signedAt: claims.signedAt, signature: encodeDigest(digest, "base64") };
      }
      return refuse("SignatureMismatch", mismatch(usable.length));
    },
    sign(input, keys, now) {
      signerOf(ring(keys), now);
      const timestamp = formatTimestamp(now, "rfc3339");
      const signatures = usableAt(ring(keys), now).flatMap(({ key, material }) => {
        const digest = encodeDigest(material.digest([input.body, timestamp]), "base64");
        return slotsOf(key, keys)
          .slice(0, 1)
          .map((slot) => [HEADER[slot], digest] as const);
      });
      return {
        headers: {
          ...input.headers,
          [VERSION]: "1",
          [ALGORITHM]: "HmacSHA256",
          [TIMESTAMP]: timestamp,
          // The first key of a slot is the current one.
          ...Object.fromEntries(signatures.toReversed()),
        },
      };
    },
  };
}

function isSame(sent: Buffer | undefined, digest: Buffer): boolean {
  return sent !== undefined && equals(sent, digest);
}

function mismatch(keys: number): string {
  return `neither ${HEADER.primary} nor ${HEADER.secondary} matches its key (${keys} usable); are the two keys swapped?`;
}

/**
 * Which headers a key may have signed: the one that its `keyId` names; else, where no key is named, the first is primary and the second secondary. Any
 * other, as a former one of the ring, may be either.
 */
function slotsOf(key: VerificationKey, keys: readonly VerificationKey[]): readonly Slot[] {
  const named = namedSlot(key);
  if (named) return [named];
  const slot = keys.some((one) => namedSlot(one) !== undefined) ? undefined : SLOTS[keys.indexOf(key)];
  return slot ? [slot] : SLOTS;
}

function namedSlot({ keyId }: VerificationKey): Slot | undefined {
  return SLOTS.find((slot) => slot === keyId);
}

function readClaims(request: SignedRequest): Claims | Refusal {
  const form = checkForm(request);
  if (form) return form;
  const timestamp = singleHeader(request, TIMESTAMP, "TimestampMalformed");
  if (typeof timestamp !== "string") return timestamp;
  const signedAt = parseTimestamp(timestamp, "rfc3339");
  if (signedAt === undefined) return refuse("TimestampMalformed", `${TIMESTAMP} is not RFC 3339`);
  const signatures = readSignatures(request);
  return "ok" in signatures ? signatures : { timestamp, signedAt, signatures };
}

/** Version and algorithm are not signed, and there is one of each. */
function checkForm(request: SignedRequest): Refusal | undefined {
  for (const [name, expected] of [
    [VERSION, "1"],
    [ALGORITHM, "HmacSHA256"],
  ] as const) {
    const value = singleHeader(request, name, "SignatureMalformed");
    if (typeof value !== "string") return value;
    if (value !== expected) return refuse("SignatureMalformed", `${name} is not ${expected}`);
  }
  return undefined;
}

function readSignatures(request: SignedRequest): Claims["signatures"] | Refusal {
  const sent = SLOTS.filter((slot) => request.header(HEADER[slot]).some((value) => value !== ""));
  if (sent.length === 0)
    return refuse("HeaderMissing", `headers ${HEADER.primary} and ${HEADER.secondary} are missing`);
  const signatures: Partial<Record<Slot, Buffer>> = {};
  for (const slot of sent) {
    const value = singleHeader(request, HEADER[slot], "SignatureMalformed");
    if (typeof value !== "string") return value;
    const digest = decodeDigest(value, "base64", SHA256_BYTES);
    if (digest) signatures[slot] = digest;
  }
  if (Object.keys(signatures).length > 0) return signatures;
  return refuse("SignatureMalformed", `${sent.map((slot) => HEADER[slot]).join(" and ")}: not 32 bytes in base64`);
}
