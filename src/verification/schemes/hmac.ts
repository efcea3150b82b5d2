import { equals } from "../../lib/equals.ts";
import { HmacKey } from "../../lib/hmac.ts";
import { DEFAULT_TOLERANCE_MS, VerificationConfigError, type HmacConfig, type VerifierOptions } from "../config.ts";
import { decodeDigest, encodeDigest, type DigestEncoding } from "../encoding.ts";
import { keyRingCache, selectById, usableAt, type PreparedKey } from "../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader, type Refusal } from "../refusal.ts";
import { parseJson } from "../../lib/json-source.ts";
import { compileTemplate, contains, latin1, type Segment } from "../template.ts";
import { checkTimestamp, formatTimestamp, parseTimestamp } from "../timestamp.ts";
import type { SignedParts, SignedRequest, SignInput, Verdict, VerificationKey, Verifier } from "../types.ts";

const DIGEST_BYTES = { md5: 16, sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const;

/** The settings with names in lower case and the template compiled. */
interface Compiled {
  readonly config: HmacConfig;
  readonly header: string;
  readonly encoding: DigestEncoding;
  readonly bytes: number;
  readonly segments: readonly Segment[];
  readonly timestampHeader: string | undefined;
  readonly idHeader: string | undefined;
  readonly keyIdHeader: string | undefined;
  readonly required: readonly string[];
  readonly toleranceMs: number;
}

/** What the request says of itself, before any of it is believed. */
interface Claims {
  readonly signatures: readonly Buffer[];
  readonly timestamp: string | undefined;
  readonly signedAt: number | undefined;
  readonly id: string | undefined;
  readonly keyId: string | undefined;
}

/**
 * An HMAC scheme from data (RFC 2104). Says GitHub, Stripe, Slack, Shopify and the like with no code of their own.
 *
 * @throws VerificationConfigError when the settings contradict each other
 */
export function hmacScheme(config: HmacConfig, options: VerifierOptions): Verifier {
  const compiled = compile(config, options);
  const ring = keyRingCache((secret) => new HmacKey(config.algorithm, secret.reveal()));
  return {
    ...(compiled.idHeader !== undefined && contains(compiled.segments, "id") && { signedIdHeader: compiled.idHeader }),
    secretHeaders: [compiled.header],
    verify: (request, keys, now) => verify(compiled, ring(keys), request, now),
    sign: (request, keys, now) => sign(compiled, usableAt(ring(keys), now)[0], request, now),
  };
}

function compile(config: HmacConfig, options: VerifierOptions): Compiled {
  if (typeof config.signedContent !== "string") throw new TypeError("not built");
  const segments = compileTemplate(config.signedContent);
  const compiled: Compiled = {
    config,
    header: config.header.toLowerCase(),
    encoding: config.encoding === "hex" && config.hexCase === "lower" ? "hex-lower" : config.encoding,
    bytes: DIGEST_BYTES[config.algorithm],
    segments,
    timestampHeader: lower(config.timestamp?.header),
    idHeader: lower(config.idHeader ?? options.idHeader),
    keyIdHeader: lower(config.keyIdHeader),
    required: (config.requiredHeaders ?? []).map((name) => name.toLowerCase()),
    toleranceMs: options.toleranceMs ?? DEFAULT_TOLERANCE_MS,
  };
  check(compiled);
  return compiled;
}

function lower(name: string | undefined): string | undefined {
  return name?.toLowerCase();
}

function check({ config, segments, idHeader }: Compiled): void {
  if (!contains(segments, "body")) {
    throw new VerificationConfigError("BodyNotSigned", "signedContent must contain {body}, else anybody can change it");
  }
  const { timestamp } = config;
  if (contains(segments, "timestamp") !== (timestamp !== undefined)) {
    throw new VerificationConfigError(
      "TimestampUnclear",
      "timestamp and {timestamp} in signedContent go together: a timestamp that is not signed proves nothing",
    );
  }
  if (timestamp && (timestamp.header === undefined) === (timestamp.param === undefined)) {
    throw new VerificationConfigError("TimestampUnclear", "timestamp needs exactly one of header and param");
  }
  if (timestamp?.param !== undefined && !config.separator) {
    throw new VerificationConfigError("TimestampUnclear", "timestamp.param needs a separator");
  }
  if (contains(segments, "id") && idHeader === undefined) {
    throw new VerificationConfigError(
      "IdHeaderUnknown",
      "{id} needs a header in dedupe.keyFrom, which says where it is",
    );
  }
}

function verify(
  compiled: Compiled,
  ring: readonly PreparedKey<HmacKey>[],
  request: SignedRequest,
  now: number,
): Verdict {
  const usable = usableAt(ring, now);
  if (usable.length === 0) return NO_USABLE_KEY;
  const claims = readClaims(compiled, request);
  if ("ok" in claims) return claims;
  const late = tooFar(compiled, claims, now);
  if (late) return late;
  const content = signedContent(compiled.segments, request, claims);
  if ("ok" in content) return content;
  const candidates = selectById(usable, claims.keyId);
  for (const { key, material } of candidates) {
    const digest = material.digest(content);
    if (claims.signatures.some((signature) => equals(signature, digest))) return accept(compiled, key, digest, claims);
  }
  return refuse(
    "SignatureMismatch",
    `${compiled.header} matches none of ${candidates.length} key(s) over the raw body`,
  );
}

function accept(compiled: Compiled, key: VerificationKey, digest: Buffer, claims: Claims): Verdict {
  return {
    ok: true,
    key,
    signature: encodeDigest(digest, compiled.encoding),
    ...(claims.signedAt !== undefined && { signedAt: claims.signedAt }),
    ...(claims.id !== undefined && { deliveryId: claims.id }),
  };
}

function tooFar({ config, toleranceMs }: Compiled, { signedAt }: Claims, now: number): Refusal | undefined {
  if (signedAt === undefined || !config.timestamp) return undefined;
  return checkTimestamp(signedAt, now, toleranceMs, config.timestamp.unit);
}

/** Reads the headers: missing ones first (400), then form (400 for the timestamp, 401 for the signature). */
function readClaims(compiled: Compiled, request: SignedRequest): Claims | Refusal {
  const raw = singleHeader(request, compiled.header, "SignatureMalformed");
  if (typeof raw !== "string") return raw;
  for (const name of compiled.required) {
    const value = singleHeader(request, name, "DedupeKeyMissing");
    if (typeof value !== "string") return value;
  }
  const items = compiled.config.separator ? raw.split(compiled.config.separator) : [raw];
  const timestamp = readTimestamp(compiled, request, items);
  if ("ok" in timestamp) return timestamp;
  const names = readNames(compiled, request);
  if ("ok" in names) return names;
  const signatures = readSignatures(compiled, items);
  return "ok" in signatures ? signatures : { ...timestamp, ...names, signatures };
}

/** The delivery id, when it is signed, and the name of the key, when the sender gives one. */
function readNames(
  { idHeader, keyIdHeader, segments }: Compiled,
  request: SignedRequest,
): Pick<Claims, "id" | "keyId"> | Refusal {
  const signed = idHeader !== undefined && contains(segments, "id");
  const id = signed ? singleHeader(request, idHeader, "SignatureMalformed") : undefined;
  if (typeof id === "object") return id;
  const keyIds = keyIdHeader === undefined ? [] : request.header(keyIdHeader);
  if (keyIds.length > 1) return refuse("SignatureMalformed", `header ${keyIdHeader} was sent ${keyIds.length} times`);
  return { id, keyId: keyIds[0] || undefined };
}

function readTimestamp(
  { config, timestampHeader, header }: Compiled,
  request: SignedRequest,
  items: readonly string[],
): Pick<Claims, "timestamp" | "signedAt"> | Refusal {
  if (!config.timestamp) return { timestamp: undefined, signedAt: undefined };
  const { param, unit } = config.timestamp;
  const text =
    timestampHeader === undefined
      ? singleItem(header, `${param}=`, items)
      : singleHeader(request, timestampHeader, "TimestampMalformed");
  if (typeof text !== "string") return text;
  const signedAt = parseTimestamp(text, unit);
  if (signedAt !== undefined) return { timestamp: text, signedAt };
  return refuse("TimestampMalformed", `${timestampHeader ?? `${param} in ${header}`} is not a timestamp in ${unit}`);
}

function singleItem(header: string, prefix: string, items: readonly string[]): string | Refusal {
  const found = items.filter((item) => item.startsWith(prefix));
  const [only] = found;
  if (found.length === 1 && only !== undefined) return only.slice(prefix.length);
  return refuse("TimestampMalformed", `${header} has ${found.length} items ${prefix}, exactly one is needed`);
}

/** Items that are no signature of this scheme are passed over: providers add new versions beside the old one. */
function readSignatures(compiled: Compiled, items: readonly string[]): readonly Buffer[] | Refusal {
  const { prefix } = compiled.config;
  const signatures: Buffer[] = [];
  for (const item of items) {
    if (!item.startsWith(prefix)) continue;
    const digest = decodeDigest(item.slice(prefix.length), compiled.encoding, compiled.bytes);
    if (digest) signatures.push(digest);
  }
  if (signatures.length > 0) return signatures;
  const form = `${compiled.bytes} bytes in ${compiled.config.encoding}${prefix && ` after "${prefix}"`}`;
  return refuse("SignatureMalformed", `${compiled.header} holds no signature of the form: ${form}`);
}

/** The signed content in its parts. Text is latin1. */
function signedContent(
  segments: readonly Segment[],
  request: SignedRequest,
  claims: Claims,
): readonly (string | Buffer)[] | Refusal {
  const parts: (string | Buffer)[] = [];
  for (const segment of segments) {
    const part = segment.type === "body" ? request.body : segmentText(segment, request, claims);
    if (typeof part === "object" && "ok" in part) return part;
    parts.push(part);
  }
  return parts;
}

function segmentText(segment: Segment, request: SignedRequest, claims: Claims): string | Refusal {
  switch (segment.type) {
    case "literal":
      return segment.text;
    case "header":
      return singleHeader(request, segment.name, "SignatureMalformed");
    case "timestamp":
      return claims.timestamp ?? "";
    case "id":
      return claims.id ?? "";
    case "url":
      return latin1(request.url);
    default:
      return segment.type === "method" ? request.method : request.path;
  }
}

function sign(
  compiled: Compiled,
  signer: PreparedKey<HmacKey> | undefined,
  input: SignInput,
  now: number,
): SignedParts {
  if (!signer) throw new VerificationConfigError("CannotSign", "no usable key to sign with");
  const { config, header } = compiled;
  const timestamp = config.timestamp && formatTimestamp(now, config.timestamp.unit);
  const headers: Record<string, string> = {
    ...input.headers,
    ...sideHeaders(compiled, signer.key, input.id, timestamp),
  };
  const claims: Claims = { signatures: [], timestamp, signedAt: now, id: input.id, keyId: undefined };
  const lookup = (name: string) => (headers[name] === undefined ? [] : [headers[name]]);
  const request = { ...input, header: lookup, json: () => parseJson(input.body) };
  const content = signedContent(compiled.segments, request, claims);
  if ("ok" in content) throw new VerificationConfigError("CannotSign", `${content.detail}: give its value in headers`);
  const signature = config.prefix + encodeDigest(signer.material.digest(content), compiled.encoding);
  const param = config.timestamp?.param;
  const value = param === undefined ? signature : `${param}=${timestamp}${config.separator}${signature}`;
  return { headers: { ...headers, [header]: value } };
}

/** The headers beside the signature: timestamp, delivery id, key id. */
function sideHeaders(
  { timestampHeader, idHeader, keyIdHeader }: Compiled,
  key: VerificationKey,
  id: string,
  timestamp: string | undefined,
): Record<string, string> {
  return {
    ...(timestampHeader !== undefined && timestamp !== undefined && { [timestampHeader]: timestamp }),
    ...(idHeader !== undefined && { [idHeader]: id }),
    ...(keyIdHeader !== undefined && key.keyId !== undefined && { [keyIdHeader]: key.keyId }),
  };
}
