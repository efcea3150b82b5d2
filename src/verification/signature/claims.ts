import { valueAt } from "../../lib/json-source.ts";
import { refuse, singleHeader, type Refusal } from "../refusal.ts";
import { hasUsualLength, parseTimestamp } from "../timestamp.ts";
import type { SignedRequest } from "../types.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";
import type { SignatureSettings, TimestampPlace } from "./settings.ts";

/** What the request says of itself, before any of it is believed. */
export interface Claims<S> {
  /** Values of the signature headers, as sent. */
  readonly values: readonly string[];
  readonly signatures: readonly S[];
  readonly timestamp: string | undefined;
  /** Unix ms. `undefined` also when the timestamp stands in the body, which is read once the signature has matched. */
  readonly signedAt: number | undefined;
  readonly id: string | undefined;
  readonly keyId: string | undefined;
}

/** As much of the claims as the signed content may hold. */
export type ContentSource = Pick<Claims<never>, "values" | "timestamp" | "id">;

/** As much of an algorithm as reading takes. */
type Form<S> = Pick<SignatureAlgorithm<unknown, S>, "form" | "maxSignatures" | "read">;

/** Reads the headers: missing ones first (400), then form (400 for the timestamp, 401 for the signature). */
export function readClaims<S>(
  settings: SignatureSettings,
  algorithm: Form<S>,
  request: SignedRequest,
): Claims<S> | Refusal {
  const values = readValues(settings, request);
  if ("ok" in values) return values;
  for (const name of settings.required) {
    const value = singleHeader(request, name, "DedupeKeyMissing");
    if (typeof value !== "string") return value;
  }
  const timestamp = readTimestamp(settings, request, values);
  if (typeof timestamp === "object") return timestamp;
  const id = readId(settings, request);
  if (typeof id === "object") return id;
  const keyId = readKeyId(settings, request);
  if (typeof keyId === "object") return keyId;
  const signatures = readSignatures(settings, algorithm, values);
  if ("ok" in signatures) return signatures;
  const signedAt = signedTime(settings.timestamp, timestamp);
  return typeof signedAt === "object" ? signedAt : { values, signatures, timestamp, signedAt, id, keyId };
}

/** The values of all signature headers that are there; one is enough. */
function readValues({ headers }: SignatureSettings, request: SignedRequest): readonly string[] | Refusal {
  const [first = ""] = headers;
  const values: string[] = [];
  for (const name of headers) {
    const value = singleHeader(request, name, "SignatureMalformed");
    if (typeof value === "string") values.push(value);
    else if (value.reason !== "HeaderMissing" || headers.length === 1) return value;
  }
  if (values.length > 0) return values;
  return refuse(
    "HeaderMissing",
    `header ${first} is missing, and so are ${headers.length - 1} that could stand for it`,
  );
}

function readId(
  { readsId, idHeader, idForm }: SignatureSettings,
  request: SignedRequest,
): string | undefined | Refusal {
  if (!readsId || idHeader === undefined) return undefined;
  const id = singleHeader(request, idHeader, "SignatureMalformed");
  return typeof id !== "string" || idForm.test(id) ? id : unclearEnd(idHeader);
}

/** The refusal of a value whose end in the signed content could be anywhere. */
export function unclearEnd(header: string): Refusal {
  return refuse(
    "SignatureMalformed",
    `header ${header} has a character that cannot be told from what is signed beside it`,
  );
}

/** The name of the key, when the sender gives one. */
function readKeyId({ keyIdHeader }: SignatureSettings, request: SignedRequest): string | undefined | Refusal {
  if (keyIdHeader === undefined) return undefined;
  const keyIds = request.header(keyIdHeader);
  if (keyIds.length > 1) return refuse("SignatureMalformed", `header ${keyIdHeader} was sent ${keyIds.length} times`);
  return keyIds[0] || undefined;
}

function readTimestamp(
  { timestamp, headers, separator }: SignatureSettings,
  request: SignedRequest,
  values: readonly string[],
): string | undefined | Refusal {
  if (timestamp?.from === "header") return singleHeader(request, timestamp.name, "TimestampMalformed");
  if (timestamp?.from !== "param") return undefined;
  const value = findParam(values, separator, timestamp.prefix);
  if (value !== undefined) return value;
  return refuse("TimestampMalformed", `${headers[0]} must hold ${timestamp.name}= exactly once`);
}

/**
 * A parameter among the pieces of the signature headers.
 *
 * @param prefix name and `=`
 * @returns `undefined` when it is missing, or there more than once
 */
export function findParam(
  values: readonly string[],
  separator: string | undefined,
  prefix: string,
): string | undefined {
  let found: string | undefined;
  for (const value of values) {
    for (let start = 0; start <= value.length; ) {
      const end = endOfPiece(value, separator, start);
      if (value.startsWith(prefix, start)) {
        if (found !== undefined) return undefined;
        found = value.slice(start + prefix.length, end);
      }
      start = end + (separator?.length ?? 1);
    }
  }
  return found;
}

/** Pieces are not split off beforehand: most of them nobody wants, and this runs for every request. */
function endOfPiece(value: string, separator: string | undefined, start: number): number {
  const end = separator === undefined ? -1 : value.indexOf(separator, start);
  return end === -1 ? value.length : end;
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
  const text = typeof value === "number" ? String(value) : value;
  const signedAt = typeof text === "string" ? parseTimestamp(text, unit) : undefined;
  return signedAt ?? refuse("TimestampMalformed", `${pointer} in the body is not a timestamp in ${unit}`);
}

/** Pieces that are no signature of this scheme are passed over: providers add new versions beside the old one. */
function readSignatures<S>(
  settings: SignatureSettings,
  algorithm: Form<S>,
  values: readonly string[],
): readonly S[] | Refusal {
  const signatures: S[] = [];
  for (const value of values) readPieces(settings, algorithm, value, signatures);
  const [header] = settings.headers;
  if (signatures.length > algorithm.maxSignatures) {
    return refuse("SignatureMalformed", `${header} holds more than ${algorithm.maxSignatures} signatures`);
  }
  return signatures.length > 0 ? signatures : malformed(settings, algorithm);
}

function readPieces<S>(
  { separator, prefix, prefixOnce }: SignatureSettings,
  algorithm: Form<S>,
  value: string,
  signatures: S[],
): void {
  let inList = false;
  for (let start = 0; start <= value.length && signatures.length <= algorithm.maxSignatures; ) {
    const end = endOfPiece(value, separator, start);
    const prefixed = value.startsWith(prefix, start);
    if (prefixed || inList) {
      const signature = algorithm.read(value.slice(prefixed ? start + prefix.length : start, end));
      if (signature !== undefined) signatures.push(signature);
      inList = prefixOnce;
    }
    start = end + (separator?.length ?? 1);
  }
}

/** The refusal of a header in which nothing looks like a signature. */
export function malformed<S>({ prefix, headers }: SignatureSettings, { form }: Pick<Form<S>, "form">): Refusal {
  const after = prefix && ` after "${prefix}"`;
  return refuse("SignatureMalformed", `${headers[0]} holds no signature of the form: ${form}${after}`);
}
