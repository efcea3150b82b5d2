import { equals } from "../../../lib/equals.ts";
import { valueAt } from "../../../lib/json-source.ts";
import { DEFAULT_TOLERANCE_MS, type VerifierOptions } from "../../config.ts";
import { decodeDigest, encodeDigest } from "../../encoding.ts";
import { hmacKeyOf } from "../../hmac-keys.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse, type Refusal } from "../../refusal.ts";
import { objectToSign, signerOf } from "../../signer.ts";
import { checkTimestamp, formatTimestamp, hasUsualLength, nonceGoodFor, parseTimestamp } from "../../timestamp.ts";
import type { SignedRequest, Verifier } from "../../types.ts";

const SHA256_BYTES = 32;
const TOKEN = /^[\x21-\x7e]{1,256}$/;

/** What stands in `signature` of the body. */
interface Claims {
  readonly timestamp: string;
  readonly signedAt: number;
  readonly token: string;
  /** Under the key of the account itself, and under that of the account that it belongs to. */
  readonly signatures: readonly Buffer[];
}

/**
 * HMAC-SHA256 in hex over timestamp and token, both of which stand in the body with it. Nothing else is covered: timestamp and token together are good
 * for one body only.
 */
export function mailgunScheme({ toleranceMs = DEFAULT_TOLERANCE_MS }: VerifierOptions): Verifier {
  const ring = keyRingCache((secret) => hmacKeyOf("sha256", secret));
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      const { timestamp, token, signedAt, signatures } = claims;
      const late = checkTimestamp(signedAt, now, toleranceMs, "seconds");
      if (late) return late;
      const nonce = timestamp + token;
      for (const { key, material } of usable) {
        const digest = material.digest([nonce]);
        if (!signatures.some((one) => equals(one, digest))) continue;
        const signature = encodeDigest(digest, "hex");
        return { ok: true, key, signedAt, signature, nonce, ...nonceGoodFor(signedAt, now, toleranceMs) };
      }
      return refuse("SignatureMismatch", `signature.signature of the body matches none of ${usable.length} key(s)`);
    },
    sign(input, keys, now) {
      const { material } = signerOf(ring(keys), now);
      const timestamp = formatTimestamp(now, "seconds");
      const digest = material.digest([timestamp + input.id]);
      const signature = { timestamp, token: input.id, signature: encodeDigest(digest, "hex") };
      const body = objectToSign(input.body, "a JSON object with event-data");
      return { headers: { ...input.headers }, body: Buffer.from(JSON.stringify({ ...body, signature })) };
    },
  };
}

function readClaims(request: SignedRequest): Claims | Refusal {
  const body = request.json();
  const stated = body.ok ? valueAt(body.value, ["signature"]) : undefined;
  const token = valueAt(stated, ["token"]);
  const signatures = [valueAt(stated, ["signature"]), valueAt(stated, ["parent-signature"])].filter(isText);
  if (signatures.length === 0) return refuse("SignatureMissing", "the body has no signature.signature");
  if (typeof token !== "string" || !TOKEN.test(token)) {
    return refuse("SignatureMalformed", "signature.token of the body is no token of Mailgun");
  }
  const decoded = signatures.flatMap((one) => decodeDigest(one, "hex-lower", SHA256_BYTES) ?? []);
  if (decoded.length === 0) {
    return refuse("SignatureMalformed", "signature.signature of the body is not 32 bytes in lower-case hex");
  }
  const time = readTimestamp(valueAt(stated, ["timestamp"]));
  return "ok" in time ? time : { ...time, token, signatures: decoded };
}

/** Ten digits: the token follows without a border, and a digit could be moved over it. */
function readTimestamp(value: unknown): Pick<Claims, "timestamp" | "signedAt"> | Refusal {
  const timestamp = typeof value === "number" ? String(value) : value;
  const signedAt = typeof timestamp === "string" ? parseTimestamp(timestamp, "seconds") : undefined;
  if (typeof timestamp === "string" && signedAt !== undefined && hasUsualLength(timestamp, "seconds")) {
    return { timestamp, signedAt };
  }
  return refuse("TimestampMalformed", "signature.timestamp of the body is not Unix seconds");
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
