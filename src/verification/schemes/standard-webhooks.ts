import { sign, verify, type KeyObject } from "node:crypto";
import { equals } from "../../lib/equals.ts";
import type { HmacKey } from "../../lib/hmac.ts";
import { DEFAULT_TOLERANCE_MS, type StandardWebhooksConfig, type VerifierOptions } from "../config.ts";
import { contentBytes } from "../content.ts";
import { decodeDigest, digestForm } from "../encoding.ts";
import { keyRingCache, usableAt, type PreparedKey } from "../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, singleValue, type Refusal } from "../refusal.ts";
import { cannotSign } from "../signer.ts";
import { compileTemplate, fieldForm } from "../template.ts";
import { checkTimestamp, formatTimestamp, parseTimestamp } from "../timestamp.ts";
import type { SignedParts, SignedRequest, SignInput, Verdict, Verifier } from "../types.ts";
import { PLAIN, type SchemeKind } from "./scheme-kind.ts";
import { readStandardWebhooksKey, type StandardWebhooksKey } from "./standard-webhooks-keys.ts";

/** Signatures of one header that are looked at: an ed25519 check costs about 60 µs, and a 16 KB header holds 170 of them. */
const MAX_SIGNATURES = 20;

interface Names {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
}

const WEBHOOK: Names = { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" };
const SVIX: Names = { id: "svix-id", timestamp: "svix-timestamp", signature: "svix-signature" };

/** A full stop ends the id in the signed content, and the specification allows none in it. */
const ID = fieldForm(compileTemplate("{id}.{timestamp}.{body}"), 0);

const MAC = digestForm("base64", 32);

/** Characters of `v1,` and 32 bytes in base64. */
const ONE_MAC_LENGTH = 47;

interface Signatures {
  /** HMACs (`v1`) in base64. */
  readonly macs: readonly string[];
  /** ed25519 signatures (`v1a`). */
  readonly signed: readonly Buffer[];
}

interface Claims extends Signatures {
  readonly names: Names;
  readonly timestamp: string;
  readonly signedAt: number;
  readonly id: string;
}

/**
 * Standard Webhooks (the specification of that name, version 1.0.0): HMAC-SHA256 as `v1,<base64>`, ed25519 as `v1a,<base64>`, over `id.timestamp.body`.
 * The headers of Svix (`svix-id`, …) are the same ones under an older name.
 */
export const standardWebhooksKind: SchemeKind<StandardWebhooksConfig> = {
  create: (_config, options) => standardWebhooksScheme(options),
  covers: () => ({ body: true, headers: [WEBHOOK.id] }),
  signsTime: () => true,
  ...PLAIN,
  describe: () => ({
    place: `${WEBHOOK.signature}, ${SVIX.signature}`,
    algorithm: "HMAC-SHA256 or Ed25519, base64",
    content: "{id}.{timestamp}.{body}",
  }),
};

function standardWebhooksScheme(options: VerifierOptions): Verifier {
  const toleranceMs = options.toleranceMs ?? DEFAULT_TOLERANCE_MS;
  const ring = keyRingCache(readStandardWebhooksKey);
  return {
    signedIdHeader: WEBHOOK.id,
    secretHeaders: [WEBHOOK.signature, SVIX.signature],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request);
      if ("ok" in claims) return claims;
      return checkTimestamp(claims.signedAt, now, toleranceMs, "seconds") ?? match(usable, claims, request.body);
    },
    sign: (input, keys, now) => signWith(usableAt(ring(keys), now), input, now),
  };
}

function readClaims(request: SignedRequest): Claims | Refusal {
  let names = WEBHOOK;
  let values = request.header(WEBHOOK.signature);
  if (values.length === 0) {
    const older = request.header(SVIX.signature);
    if (older.length > 0) [names, values] = [SVIX, older];
  }
  const signature = singleValue(values, names.signature, "SignatureMalformed");
  if (typeof signature !== "string") return signature;
  const id = singleHeader(request, names.id, "SignatureMalformed");
  if (typeof id !== "string") return id;
  if (!ID.test(id))
    return refuse("SignatureMalformed", `${names.id} has a character that no id may have (a full stop?)`);
  const timestamp = singleHeader(request, names.timestamp, "TimestampMalformed");
  if (typeof timestamp !== "string") return timestamp;
  const signedAt = parseTimestamp(timestamp, "seconds");
  if (signedAt === undefined) return refuse("TimestampMalformed", `${names.timestamp} is not a Unix time in seconds`);
  const { macs, signed } = readSignatures(signature);
  if (macs.length + signed.length === 0) return malformed(names);
  return { names, timestamp, signedAt, id, macs, signed };
}

function malformed(names: Names): Refusal {
  return refuse("SignatureMalformed", `${names.signature} is no list of v1,<base64> or v1a,<base64>`);
}

const NO_SIGNATURES: Signatures = { macs: [], signed: [] };

/** None when the header was sent twice and joined (a second comma in one item) or holds too many. Other versions are passed over. */
function readSignatures(text: string): Signatures {
  // By far the most headers are one HMAC. Were there anything else in it, it would match nothing.
  if (text.length === ONE_MAC_LENGTH && text.startsWith("v1,")) return { macs: [text.slice(3)], signed: [] };
  const macs: string[] = [];
  const signed: Buffer[] = [];
  let count = 0;
  for (let start = 0; start <= text.length; count += 1) {
    const space = text.indexOf(" ", start);
    const end = space === -1 ? text.length : space;
    if (count >= MAX_SIGNATURES || !readItem(text.slice(start, end), macs, signed)) return NO_SIGNATURES;
    start = end + 1;
  }
  return { macs, signed };
}

/** @returns false for an item that no sender writes */
function readItem(item: string, macs: string[], signed: Buffer[]): boolean {
  const comma = item.indexOf(",");
  if (item.includes(",", comma + 1)) return false;
  if (comma === 2 && item.startsWith("v1")) addIfRead(macs, MAC.read(item.slice(3)));
  else if (comma === 3 && item.startsWith("v1a")) addIfRead(signed, decodeDigest(item.slice(4), "base64", 64));
  return true;
}

function addIfRead<T>(list: T[], item: T | undefined): void {
  if (item !== undefined) list.push(item);
}

function match(usable: readonly PreparedKey<StandardWebhooksKey>[], claims: Claims, body: Buffer): Verdict {
  const content = [`${claims.id}.${claims.timestamp}.`, body];
  for (const { key, material } of usable) {
    const signature =
      material.version === "v1"
        ? matchMac(material.key, claims.macs, content)
        : matchEd25519(material.key, claims.signed, content);
    if (signature === undefined) continue;
    const { id: deliveryId, signedAt } = claims;
    return { ok: true, key, signedAt, deliveryId, signature };
  }
  if (claims.signed.length === 0 && !claims.macs.some((mac) => MAC.isWritten(mac))) return malformed(claims.names);
  return refuse(
    "SignatureMismatch",
    `${claims.names.signature} matches none of ${usable.length} key(s) over the raw body`,
  );
}

function matchMac(key: HmacKey, macs: readonly string[], content: readonly (string | Buffer)[]): string | undefined {
  if (macs.length === 0) return undefined;
  const digest = key.digestText(content, "base64");
  for (const mac of macs) if (equals(mac, digest)) return `v1,${digest}`;
  return undefined;
}

function matchEd25519(
  key: KeyObject,
  signatures: readonly Buffer[],
  content: readonly (string | Buffer)[],
): string | undefined {
  if (signatures.length === 0) return undefined;
  const bytes = contentBytes(content);
  const matched = signatures.find((signature) => verify(null, bytes, key, signature));
  return matched && `v1a,${matched.toString("base64")}`;
}

function signWith(usable: readonly PreparedKey<StandardWebhooksKey>[], input: SignInput, now: number): SignedParts {
  const timestamp = formatTimestamp(now, "seconds");
  const content = contentBytes([`${input.id}.${timestamp}.`, input.body]);
  const signature = usable.map(({ material }) => signatureOf(material, content)).find((made) => made !== undefined);
  if (signature === undefined) throw cannotSign("no usable whsec_ or whsk_ key to sign with");
  return {
    headers: {
      ...input.headers,
      [WEBHOOK.id]: input.id,
      [WEBHOOK.timestamp]: timestamp,
      [WEBHOOK.signature]: signature,
    },
  };
}

function signatureOf(material: StandardWebhooksKey, content: Buffer): string | undefined {
  if (material.version === "v1") return `v1,${material.key.digestText([content], "base64")}`;
  return material.signing && `v1a,${sign(null, content, material.signing).toString("base64")}`;
}
