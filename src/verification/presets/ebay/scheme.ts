import { hash, type KeyObject, verify } from "node:crypto";
import { parseJson, valueAt } from "../../../lib/json-source.ts";
import { VerificationConfigError } from "../../config.ts";
import { decodeBytes } from "../../encoding.ts";
import { keyRingCache, selectById, usableAt } from "../../keys.ts";
import { isKeyOfType, readPublicKey } from "../../public-keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, type Refusal } from "../../refusal.ts";
import type { SignedRequest, Verifier } from "../../types.ts";

const HEADER = "x-ebay-signature";

/** Length of the header's JSON. */
const MAX_CLAIM_BYTES = 1_024;

/** A sequence of two integers of at most 33 bytes (RFC 3279 §2.2.3). */
const MAX_SIGNATURE_BYTES = 72;

/** What the header says. */
interface Claims {
  /** Names the public key. */
  readonly kid: string;
  readonly signature: Buffer;
}

/**
 * `X-EBAY-SIGNATURE`: base64 of JSON with `alg`, `kid`, `signature` and `digest`. ECDSA on P-256 over SHA-1 of the body; what the header says of its own
 * algorithm must be that. The Secret's `keyId` is the `kid`.
 */
export function ebayScheme(): Verifier {
  const ring = keyRingCache((secret) => publicKeyOf(secret.reveal()));
  return {
    secretHeaders: [HEADER],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      const candidates = selectById(usable, claims.kid);
      const match = candidates.find(({ material }) => verify("sha1", request.body, material, claims.signature));
      if (!match) {
        return refuse(
          "SignatureMismatch",
          `${HEADER} matches none of ${candidates.length} public key(s): see whether eBay has a new one`,
        );
      }
      // Of an ECDSA signature anybody can make a second one that is valid as well, so the body stands for it.
      return { ok: true, key: match.key, signature: hash("sha256", request.body, "base64") };
    },
    sign() {
      throw new VerificationConfigError("CannotSign", "only eBay has the private key");
    },
  };
}

/** The key as eBay's API shows it: PEM, on one line or several. */
function publicKeyOf(value: Buffer): KeyObject | undefined {
  const base64 = value.toString("latin1").replaceAll(/-----(?:BEGIN|END) PUBLIC KEY-----|\s/g, "");
  const key = readPublicKey(Buffer.from(base64, "latin1"), "spki-base64");
  return key && isKeyOfType(key, "p256") ? key : undefined;
}

function readClaims(request: SignedRequest): Claims | Refusal {
  const value = singleHeader(request, HEADER, "SignatureMalformed");
  if (typeof value !== "string") return value;
  const bytes = decodeBytes(value, "base64", MAX_CLAIM_BYTES);
  const parsed = bytes ? parseJson(bytes) : ({ ok: false } as const);
  const [alg, digest, kid, signature] = ["alg", "digest", "kid", "signature"].map((name) =>
    parsed.ok ? valueAt(parsed.value, [name]) : undefined,
  );
  const decoded = typeof signature === "string" ? decodeBytes(signature, "base64", MAX_SIGNATURE_BYTES) : undefined;
  if (!isText(alg, "ecdsa") || !isText(digest, "sha1") || typeof kid !== "string" || !decoded) {
    return refuse(
      "SignatureMalformed",
      `${HEADER} is not base64 of JSON with alg ECDSA, digest SHA1, a kid and a signature`,
    );
  }
  return { kid, signature: decoded };
}

function isText(value: unknown, lower: string): boolean {
  return typeof value === "string" && value.toLowerCase() === lower;
}
