import { equals } from "../../../lib/equals.ts";
import type { HmacKey } from "../../../lib/hmac.ts";
import { DEFAULT_TOLERANCE_MS, type Content, type CustomConfig, type VerifierOptions } from "../../config.ts";
import { decodeDigest, encodeDigest } from "../../encoding.ts";
import { hmacKeyOf } from "../../hmac-keys.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, type Refusal } from "../../refusal.ts";
import { signerOf } from "../../signer.ts";
import { checkTimestamp, formatTimestamp, nonceGoodFor, parseTimestamp } from "../../timestamp.ts";
import type { HeaderValues, SignedRequest, SignInput, Verifier } from "../../types.ts";

const HEADER = "x-hook0-signature";
const SHA256_BYTES = 32;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Which signatures a sender makes. `v1` covers headers as well. */
export type Hook0Version = "v0" | "v1";

interface Claims {
  readonly timestamp: string;
  readonly signedAt: number;
  readonly version: Hook0Version;
  readonly signature: Buffer;
  /** What stands before the body. */
  readonly head: Content;
}

/**
 * `t=…,h=…,v1=…` over `t.names.values.body`, or `t=…,v0=…` over `t.body`: HMAC-SHA256 in hex of either case. Where there is a `v1`, it alone counts:
 * `v0` covers less.
 */
export function hook0Config(versions: readonly Hook0Version[]): CustomConfig {
  return {
    type: "custom",
    description: `${HEADER} (t=…,h=…,${versions.join("=…,")}=…) over timestamp, listed headers and body; HMAC-SHA256`,
    covers: { body: true },
    signsTime: true,
    create: (options) => hook0Scheme(versions, options),
  };
}

function hook0Scheme(
  versions: readonly Hook0Version[],
  { toleranceMs = DEFAULT_TOLERANCE_MS }: VerifierOptions,
): Verifier {
  const ring = keyRingCache((secret) => hmacKeyOf("sha256", secret));
  return {
    secretHeaders: [HEADER],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const claims = readClaims(request, versions);
      if ("ok" in claims) return claims;
      const { signedAt, version, signature, head } = claims;
      const late = checkTimestamp(signedAt, now, toleranceMs, "seconds");
      if (late) return late;
      for (const { key, material } of usable) {
        const digest = material.digest([...head, request.body]);
        if (!equals(digest, signature)) continue;
        const canonical = encodeDigest(digest, "hex");
        // Where the values end is certain before a body of JSON only, so that the signature is good for one body.
        const once = version === "v1" && { nonce: canonical, ...nonceGoodFor(signedAt, now, toleranceMs) };
        return { ok: true, key, signedAt, signature: canonical, ...once };
      }
      return refuse("SignatureMismatch", `${version} in ${HEADER} matches none of ${usable.length} key(s)`);
    },
    sign: (input, keys, now) => sign(input, signerOf(ring(keys), now).material, now),
  };
}

function sign(input: SignInput, key: HmacKey, now: number) {
  const headers: Readonly<Record<string, string>> = { ...input.headers, [ID_HEADER]: input.id };
  const names = Object.keys(headers).toSorted();
  const timestamp = formatTimestamp(now, "seconds");
  const values = names.map((name) => headers[name] ?? "");
  const digest = key.digest([`${timestamp}.${names.join(" ")}.${values.join(".")}.`, input.body]);
  const signature = `t=${timestamp},h=${names.join(" ")},v1=${encodeDigest(digest, "hex")}`;
  return { headers: { ...headers, [HEADER]: signature } };
}

function readClaims(request: SignedRequest, versions: readonly Hook0Version[]): Claims | Refusal {
  const raw = singleHeader(request, HEADER, "SignatureMalformed");
  if (typeof raw !== "string") return raw;
  const fields = readFields(raw);
  if (!fields) return refuse("SignatureMalformed", `${HEADER} is no list of name=value, each name once`);
  const timestamp = fields.get("t") ?? "";
  const signedAt = parseTimestamp(timestamp, "seconds");
  if (signedAt === undefined) return refuse("TimestampMalformed", `t in ${HEADER} is no timestamp in seconds`);
  const version = versions.toSorted().findLast((one) => fields.has(one));
  if (!version) return refuse("SignatureMalformed", `${HEADER} has no ${versions.join(" or ")}`);
  const signature = decodeDigest(fields.get(version) ?? "", "hex", SHA256_BYTES);
  if (!signature) return refuse("SignatureMalformed", `${version} in ${HEADER} is not 32 bytes in hex`);
  const lookup: HeaderValues = (name) => request.header(name);
  const head = version === "v0" ? [`${timestamp}.`] : headWithHeaders(timestamp, fields.get("h"), lookup);
  return "ok" in head ? head : { timestamp, signedAt, version, signature, head };
}

/** `undefined` when an item has no name or no value, or a name stands there twice. */
function readFields(raw: string): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>();
  for (const item of raw.split(",")) {
    const equalsAt = item.indexOf("=");
    const name = item.slice(0, equalsAt);
    if (equalsAt < 1 || fields.has(name)) return undefined;
    fields.set(name, item.slice(equalsAt + 1));
  }
  return fields;
}

/** Most headers that may be signed: each is looked up among all of the request's. */
const MAX_NAMES = 64;

/** The event's id is one piece of the signed content: a full stop in it could be the border to the next. */
const ID_HEADER = "x-event-id";
const ID = /^[A-Za-z0-9_-]{1,256}$/;

/** What a body of JSON begins with stands in no value: values end where the body begins, and a full stop, which they may hold, is all that tells. */
const VALUE = /^[^{["]*$/;

/** Names as listed, each once, and values as sent, none left out. */
function headWithHeaders(timestamp: string, list: string | undefined, header: HeaderValues): Content | Refusal {
  const names = namesOf(list);
  if ("ok" in names) return names;
  const values: string[] = [];
  for (const name of names) {
    const value = signedValue(name, header(name.toLowerCase()));
    if (typeof value !== "string") return value;
    values.push(value);
  }
  return [`${timestamp}.${names.join(" ")}.${values.join(".")}.`];
}

function namesOf(list: string | undefined): readonly string[] | Refusal {
  const names = list === "" ? [] : (list?.split(" ", MAX_NAMES + 1) ?? []);
  if (names.length > MAX_NAMES)
    return refuse("SignatureMalformed", `h in ${HEADER} lists more than ${MAX_NAMES} headers`);
  const isOnce = new Set(names.map((name) => name.toLowerCase())).size === names.length;
  if (list !== undefined && isOnce && names.every((name) => TOKEN.test(name))) return names;
  return refuse("SignatureMalformed", `h in ${HEADER} is no list of header names, each once`);
}

function signedValue(name: string, sent: readonly string[]): string | Refusal {
  const [value] = sent;
  if (sent.length > 1) return refuse("SignatureMalformed", `header ${name} was sent ${sent.length} times`);
  if (value === undefined) return refuse("HeaderMissing", `header ${name} is missing, and it is signed`);
  if ((name.toLowerCase() === ID_HEADER ? ID : VALUE).test(value)) return value;
  return refuse(
    "SignatureMalformed",
    `header ${name} has a character that cannot be told from what is signed behind it`,
  );
}
