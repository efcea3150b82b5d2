import { valueAt } from "../../lib/json-source.ts";
import { decodeBytes, decodeDigest } from "../encoding.ts";
import { refuse, singleHeader, type Refusal } from "../refusal.ts";
import { hasUsualLength, parseTimestamp } from "../timestamp.ts";
import type { SignedRequest } from "../types.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";
import type { SignatureSettings, TimestampPlace } from "./settings.ts";

/** What the request says of itself, before any of it is believed. */
export interface Claims {
  /** Pieces of the signature headers, as sent. */
  readonly items: readonly string[];
  readonly signatures: readonly Buffer[];
  readonly timestamp: string | undefined;
  /** Unix ms. `undefined` also when the timestamp stands in the body, which is read once the signature has matched. */
  readonly signedAt: number | undefined;
  readonly id: string | undefined;
  readonly keyId: string | undefined;
}

type Form = Pick<SignatureAlgorithm<never>, "bytes" | "fixedLength" | "maxSignatures">;

/** Reads the headers: missing ones first (400), then form (400 for the timestamp, 401 for the signature). */
export function readClaims(settings: SignatureSettings, form: Form, request: SignedRequest): Claims | Refusal {
  const items = readItems(settings, request);
  if ("ok" in items) return items;
  for (const name of settings.required) {
    const value = singleHeader(request, name, "DedupeKeyMissing");
    if (typeof value !== "string") return value;
  }
  const timestamp = readTimestamp(settings, request, items);
  if (typeof timestamp === "object") return timestamp;
  const id = readId(settings, request);
  if (typeof id === "object") return id;
  const keyId = readKeyId(settings, request);
  if (typeof keyId === "object") return keyId;
  const signatures = readSignatures(settings, form, items);
  if ("ok" in signatures) return signatures;
  const signedAt = signedTime(settings.timestamp, timestamp);
  return typeof signedAt === "object" ? signedAt : { items, signatures, timestamp, signedAt, id, keyId };
}

/** The pieces of all signature headers that are there; one is enough. */
function readItems(settings: SignatureSettings, request: SignedRequest): readonly string[] | Refusal {
  const [first = ""] = settings.headers;
  if (settings.headers.length === 1) {
    const raw = singleHeader(request, first, "SignatureMalformed");
    return typeof raw === "string" ? split(settings, raw) : raw;
  }
  const items: string[] = [];
  for (const name of settings.headers) {
    const raw = singleHeader(request, name, "SignatureMalformed");
    if (typeof raw === "string") items.push(...split(settings, raw));
    else if (raw.reason !== "HeaderMissing") return raw;
  }
  if (items.length > 0) return items;
  const others = settings.headers.length - 1;
  return refuse("HeaderMissing", `header ${first} is missing, and so are ${others} other(s) that could stand for it`);
}

function split({ separator, prefix, prefixOnce }: SignatureSettings, raw: string): readonly string[] {
  const items = separator === undefined ? [raw] : raw.split(separator);
  if (!prefixOnce) return items;
  const start = items.findIndex((item) => item.startsWith(prefix));
  return start === -1 ? items : items.map((item, index) => (index > start ? prefix + item : item));
}

function readId({ readsId, idHeader }: SignatureSettings, request: SignedRequest): string | undefined | Refusal {
  return readsId && idHeader !== undefined ? singleHeader(request, idHeader, "SignatureMalformed") : undefined;
}

/** The name of the key, when the sender gives one. */
function readKeyId({ keyIdHeader }: SignatureSettings, request: SignedRequest): string | undefined | Refusal {
  if (keyIdHeader === undefined) return undefined;
  const keyIds = request.header(keyIdHeader);
  if (keyIds.length > 1) return refuse("SignatureMalformed", `header ${keyIdHeader} was sent ${keyIds.length} times`);
  return keyIds[0] || undefined;
}

function readTimestamp(
  { timestamp, headers }: SignatureSettings,
  request: SignedRequest,
  items: readonly string[],
): string | undefined | Refusal {
  switch (timestamp?.from) {
    case "header":
      return singleHeader(request, timestamp.name, "TimestampMalformed");
    case "param": {
      const { value, count } = findParam(items, timestamp.name);
      if (count === 1) return value;
      return refuse("TimestampMalformed", `${headers[0]} has ${count} items ${timestamp.name}=, exactly one is needed`);
    }
    default:
      return undefined;
  }
}

/** A parameter among the pieces of a header, and how often it is there. */
export function findParam(
  items: readonly string[],
  name: string,
): { readonly value: string | undefined; readonly count: number } {
  let value: string | undefined;
  let count = 0;
  for (const item of items) {
    if (item.charCodeAt(name.length) !== 0x3d || !item.startsWith(name)) continue;
    value = item.slice(name.length + 1);
    count += 1;
  }
  return { value, count };
}

function signedTime(place: TimestampPlace | undefined, text: string | undefined): number | undefined | Refusal {
  if (place === undefined || place.from === "json" || text === undefined) return undefined;
  const parsed = place.usualLength && !hasUsualLength(text, place.unit) ? undefined : parseTimestamp(text, place.unit);
  return parsed ?? refuse("TimestampMalformed", `${place.name} is not a timestamp in ${place.unit}`);
}

/** The timestamp in a body whose signature has matched: a whole number, or text of the same form as in a header. */
export function bodyTime(
  { tokens, pointer, unit }: Extract<TimestampPlace, { from: "json" }>,
  request: SignedRequest,
): number | Refusal {
  const parsed = request.json();
  const value = parsed.ok ? valueAt(parsed.value, tokens) : undefined;
  const text = Number.isSafeInteger(value) ? String(value) : value;
  const signedAt = typeof text === "string" ? parseTimestamp(text, unit) : undefined;
  return signedAt ?? refuse("TimestampMalformed", `${pointer} in the body is not a timestamp in ${unit}`);
}

/** Pieces that are no signature of this scheme are passed over: providers add new versions beside the old one. */
function readSignatures(
  { prefix, encoding, headers }: SignatureSettings,
  { bytes, fixedLength, maxSignatures }: Form,
  items: readonly string[],
): readonly Buffer[] | Refusal {
  const signatures: Buffer[] = [];
  for (const item of items) {
    if (!item.startsWith(prefix)) continue;
    const text = item.slice(prefix.length);
    const signature = fixedLength ? decodeDigest(text, encoding, bytes) : decodeBytes(text, encoding, bytes);
    if (signature) signatures.push(signature);
  }
  if (signatures.length > maxSignatures) {
    return refuse(
      "SignatureMalformed",
      `${headers[0]} holds ${signatures.length} signatures, at most ${maxSignatures}`,
    );
  }
  if (signatures.length > 0) return signatures;
  const form = `${fixedLength ? "" : "at most "}${bytes} bytes in ${encoding}${prefix && ` after "${prefix}"`}`;
  return refuse("SignatureMalformed", `${headers[0]} holds no signature of the form: ${form}`);
}
