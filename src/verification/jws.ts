import { parseJson } from "../lib/json-source.ts";
import { isRecord } from "../lib/record.ts";
import { refuse, type Refusal } from "./refusal.ts";

/** Algorithms of JSON Web Signatures that are understood (RFC 7518 §3.1). */
export type JwsAlgorithm = "HS256" | "ES256" | "RS256";

/** A token taken apart, nothing of it verified. */
export interface Jws {
  /** `kid` of the header, if it is a text that can be shown and sent. */
  readonly kid: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** What is signed: header and payload as they were sent, ASCII. */
  readonly signingInput: Buffer;
  readonly signature: Buffer;
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;
const KID = /^[A-Za-z0-9._:~+/=-]{1,256}$/;
/** Longer tokens are refused before they are decoded. */
const MAX_CHARACTERS = 8_192;

/**
 * Takes a compact JWS (RFC 7515 §7.1) with JSON claims (RFC 7519) apart, strictly: canonical base64url without padding, JSON objects in UTF-8, an `alg` that is the
 * expected one, no `crit`.
 *
 * @param name where the token stands, for the refusal
 * @param maxCharacters the default is for headers; a body that is a token may be longer
 */
export function parseJws(
  token: string,
  algorithm: JwsAlgorithm,
  name: string,
  maxCharacters = MAX_CHARACTERS,
): Jws | Refusal {
  const parts = token.length > maxCharacters ? [] : token.split(".");
  const jws = parts.length === 3 ? takeApart(parts, algorithm) : undefined;
  return jws ?? refuse("SignatureMalformed", `${name} is not a JSON Web Token signed with ${algorithm}`);
}

function takeApart([head = "", payload = "", mac = ""]: readonly string[], algorithm: JwsAlgorithm): Jws | undefined {
  const header = decodeObject(head);
  // The token may not choose: neither `none` nor a public key taken for an HMAC secret (RFC 8725 §3.1). What `crit` names must be understood, and nothing is.
  if (header?.["alg"] !== algorithm || Object.hasOwn(header, "crit")) return undefined;
  const claims = decodeObject(payload);
  const signature = decodeBase64Url(mac);
  if (!claims || !signature) return undefined;
  return {
    kid: kidOf(header["kid"]),
    claims,
    signingInput: Buffer.from(`${head}.${payload}`, "latin1"),
    signature,
  };
}

function kidOf(kid: unknown): string | undefined {
  return typeof kid === "string" && KID.test(kid) ? kid : undefined;
}

/** Decodes base64url without padding (RFC 7515 §2); `undefined` for anything but the one canonical text. */
function decodeBase64Url(text: string): Buffer | undefined {
  if (!BASE64URL.test(text)) return undefined;
  const decoded = Buffer.from(text, "base64url");
  return decoded.toString("base64url") === text ? decoded : undefined;
}

function decodeObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = decodeBase64Url(text);
  const parsed = bytes && parseJson(bytes);
  return parsed?.ok && isRecord(parsed.value) ? parsed.value : undefined;
}

/** Writes header and claims as they are signed. */
export function jwsSigningInput(
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
): string {
  return [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
}
