import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";
import { HmacKey } from "../../lib/hmac.ts";
import type { Secret } from "../../lib/secret.ts";
import { DEFAULT_TOLERANCE_MS, type StandardWebhooksConfig, type VerifierOptions } from "../config.ts";
import { contentBytes } from "../content.ts";
import { decodeDigest, decodeKey } from "../encoding.ts";
import { matchHmac } from "../hmac-ring.ts";
import { keyRingCache, usableAt, type PreparedKey } from "../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, type Refusal } from "../refusal.ts";
import { ed25519PublicKey } from "../public-keys.ts";
import { cannotSign } from "../signature/signing.ts";
import { checkTimestamp, formatTimestamp, parseTimestamp } from "../timestamp.ts";
import type { SignedParts, SignedRequest, SignInput, Verdict, Verifier } from "../types.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** DER before the seed of an ed25519 private key (RFC 8410 §7). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Signatures of one header that are looked at: an ed25519 check costs about 60 µs, and a 16 KB header holds 170 of them. */
const MAX_SIGNATURES = 20;

type Material =
  | { readonly version: "v1"; readonly key: HmacKey }
  | { readonly version: "v1a"; readonly key: KeyObject; readonly signing: KeyObject | undefined };

interface Claims {
  readonly prefix: string;
  readonly timestamp: string;
  readonly signedAt: number;
  readonly id: string;
  readonly signatures: readonly { readonly version: Material["version"]; readonly bytes: Buffer }[];
}

/**
 * Standard Webhooks (the specification of that name, version 1.0.0): HMAC-SHA256 as `v1,<base64>`, ed25519 as `v1a,<base64>`, over `id.timestamp.body`.
 * Secrets: `whsec_<base64>`, the same without prefix, or `v1,whsec_<base64>` as Supabase shows it; `whpk_<base64>` is a public key of
 * 32 bytes, `whsk_<base64>` a private one of 64 (seed, then public key), which can also sign. A key answers for its own version only.
 * The headers of Svix (`svix-id`, …) are the same ones under an older name.
 */
export const standardWebhooksKind: SchemeKind<StandardWebhooksConfig> = {
  create: (_config, options) => standardWebhooksScheme(options),
  covers: () => ({ body: true, headers: ["webhook-id"] }),
  signsTime: () => true,
  describe: () => ({
    place: "webhook-signature, svix-signature",
    algorithm: "HMAC-SHA256 or Ed25519, base64",
    content: "{id}.{timestamp}.{body}",
  }),
};

function standardWebhooksScheme(options: VerifierOptions): Verifier {
  const toleranceMs = options.toleranceMs ?? DEFAULT_TOLERANCE_MS;
  const ring = keyRingCache(prepare);
  return {
    signedIdHeader: "webhook-id",
    secretHeaders: ["webhook-signature", "svix-signature"],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      return checkTimestamp(claims.signedAt, now, toleranceMs, "seconds") ?? match(usable, claims, request);
    },
    sign: (input, keys, now) => signWith(usableAt(ring(keys), now), input, now),
  };
}

function prepare(secret: Secret): Material | undefined {
  const text = secret.reveal().toString("latin1");
  if (text.startsWith("whpk_")) return publicKey(decodeKey(text.slice(5)));
  if (text.startsWith("whsk_")) return privateKey(decodeKey(text.slice(5)));
  const bytes = decodeKey(text.replace(/^(v1,)?whsec_/, ""));
  return bytes && { version: "v1", key: new HmacKey("sha256", bytes) };
}

function publicKey(raw: Buffer | undefined): Material | undefined {
  const key = ed25519PublicKey(raw);
  return key && { version: "v1a", key, signing: undefined };
}

function privateKey(raw: Buffer | undefined): Material | undefined {
  if (raw?.length !== 64) return undefined;
  const der = Buffer.concat([PKCS8_PREFIX, raw.subarray(0, 32)]);
  const signing = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { version: "v1a", key: createPublicKey(signing), signing };
}

function readClaims(request: SignedRequest): Claims | Refusal {
  const prefix =
    request.header("webhook-signature").length === 0 && request.header("svix-signature").length > 0
      ? "svix-"
      : "webhook-";
  const signature = singleHeader(request, `${prefix}signature`, "SignatureMalformed");
  if (typeof signature !== "string") return signature;
  const id = singleHeader(request, `${prefix}id`, "SignatureMalformed");
  if (typeof id !== "string") return id;
  const timestamp = singleHeader(request, `${prefix}timestamp`, "TimestampMalformed");
  if (typeof timestamp !== "string") return timestamp;
  const signedAt = parseTimestamp(timestamp, "seconds");
  if (signedAt === undefined) return refuse("TimestampMalformed", `${prefix}timestamp is not a Unix time in seconds`);
  const signatures = readSignatures(signature);
  if (!signatures || signatures.length === 0) {
    return refuse("SignatureMalformed", `${prefix}signature is no list of v1,<base64> or v1a,<base64>`);
  }
  return { prefix, timestamp, signedAt, id, signatures };
}

/** `undefined` when the header was sent twice and joined (a second comma in one item) or holds too many. */
function readSignatures(text: string): Claims["signatures"] | undefined {
  const items = text.split(" ", MAX_SIGNATURES + 1);
  if (items.length > MAX_SIGNATURES) return undefined;
  const signatures: { version: Material["version"]; bytes: Buffer }[] = [];
  for (const item of items) {
    const [version, encoded, ...rest] = item.split(",");
    if (rest.length > 0) return undefined;
    if ((version !== "v1" && version !== "v1a") || encoded === undefined) continue;
    const bytes = decodeDigest(encoded, "base64", version === "v1" ? 32 : 64);
    if (bytes) signatures.push({ version, bytes });
  }
  return signatures;
}

function match(usable: readonly PreparedKey<Material>[], claims: Claims, request: SignedRequest): Verdict {
  const head = `${claims.id}.${claims.timestamp}.`;
  for (const { key, material } of usable) {
    const matched =
      material.version === "v1"
        ? matchMac(material.key, claims, head, request.body)
        : matchEd25519(material.key, claims, head, request.body);
    if (!matched) continue;
    const { id: deliveryId, signedAt } = claims;
    return { ok: true, key, signedAt, deliveryId, signature: `${material.version},${matched.toString("base64")}` };
  }
  return refuse(
    "SignatureMismatch",
    `${claims.prefix}signature matches none of ${usable.length} key(s) over the raw body`,
  );
}

function matchMac(key: HmacKey, { signatures }: Claims, head: string, body: Buffer): Buffer | undefined {
  const macs = signatures.filter(({ version }) => version === "v1").map(({ bytes }) => bytes);
  return macs.length === 0 ? undefined : matchHmac(key, [head, body], macs);
}

function matchEd25519(key: KeyObject, { signatures }: Claims, head: string, body: Buffer): Buffer | undefined {
  const content = contentBytes([head, body]);
  return signatures.find(({ version, bytes }) => version === "v1a" && verify(null, content, key, bytes))?.bytes;
}

function signWith(usable: readonly PreparedKey<Material>[], input: SignInput, now: number): SignedParts {
  const timestamp = formatTimestamp(now, "seconds");
  const content = contentBytes([`${input.id}.${timestamp}.`, input.body]);
  const signature = usable.map(({ material }) => signatureOf(material, content)).find((made) => made !== undefined);
  if (signature === undefined) {
    throw cannotSign("no usable whsec_ or whsk_ key to sign with");
  }
  return {
    headers: {
      ...input.headers,
      "webhook-id": input.id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signature,
    },
  };
}

function signatureOf(material: Material, content: Buffer): string | undefined {
  if (material.version === "v1") return `v1,${material.key.digest([content]).toString("base64")}`;
  return material.signing && `v1a,${sign(null, content, material.signing).toString("base64")}`;
}
