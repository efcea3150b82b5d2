import type { SecretEncoding } from "./config.ts";

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;
const HEX_ANY = /^[0-9a-fA-F]+$/;
const HEX_LOWER = /^[0-9a-f]+$/;

/** How a digest is written. `hex` takes either case, `hex-lower` only `0-9a-f`. */
export type DigestEncoding = "hex" | "hex-lower" | "base64" | "base64url";

const HEX: Readonly<Record<string, RegExp>> = { hex: HEX_ANY, "hex-lower": HEX_LOWER };

/**
 * Decodes a signature strictly: exactly `bytes` bytes in canonical form, nothing before or after. `Buffer.from` alone skips what it does not
 * know, so that many texts would mean one signature. Base64 must be padded (RFC 4648 §4), base64url may be.
 *
 * @returns `undefined` if the text is anything else
 */
export function decodeDigest(text: string, encoding: DigestEncoding, bytes: number): Buffer | undefined {
  const decoded = decodeBytes(text, encoding, bytes);
  return decoded?.length === bytes ? decoded : undefined;
}

/**
 * Decodes as strictly as {@link decodeDigest} what has no fixed length.
 *
 * @param maxBytes longer ones are refused before they are decoded
 * @returns `undefined` if the text is empty, longer or not canonical
 */
export function decodeBytes(text: string, encoding: DigestEncoding, maxBytes: number): Buffer | undefined {
  if (text.length > maxBytes * 2 + 4) return undefined;
  const hex = HEX[encoding];
  const decoded = hex ? decodeHex(text, hex) : decodeBase64(text, encoding);
  return decoded !== undefined && decoded.length <= maxBytes ? decoded : undefined;
}

function decodeHex(text: string, digits: RegExp): Buffer | undefined {
  return text.length % 2 === 0 && digits.test(text) ? Buffer.from(text, "hex") : undefined;
}

function decodeBase64(text: string, encoding: DigestEncoding): Buffer | undefined {
  if (!(encoding === "base64" ? BASE64 : BASE64URL).test(text)) return undefined;
  const decoded = Buffer.from(text, "base64");
  return canonical(decoded, encoding, text) ? decoded : undefined;
}

function canonical(decoded: Buffer, encoding: DigestEncoding, text: string): boolean {
  if (encoding === "base64") return decoded.toString("base64") === text;
  return decoded.toString("base64url") === text.replace(/=+$/, "");
}

/** How digests of one length are told from other text when they are compared as text. */
export interface DigestForm {
  /**
   * A digest as it was sent, in the one form that {@link encodeDigest} writes: lower case, and base64url without padding. Only its length has been looked at.
   * @returns `undefined` for text of another length
   */
  read(text: string): string | undefined;
  /** Whether text that was read consists of the encoding's characters. Asked only of a digest that was wrong, to say what is the matter. */
  isWritten(text: string): boolean;
}

/** The form of digests of this length. */
export function digestForm(encoding: DigestEncoding, bytes: number): DigestForm {
  const padding = "=".repeat((3 - (bytes % 3)) % 3);
  const characters = encoding.startsWith("hex") ? bytes * 2 : Math.ceil((bytes * 4) / 3);
  const pattern = new RegExp(`^${ALPHABETS[encoding]}{${characters}}${encoding === "base64" ? padding : ""}$`);
  const length = encoding === "base64" ? characters + padding.length : characters;
  const ofLength = (text: string) => (text.length === length ? text : undefined);
  const readers: Readonly<Record<DigestEncoding, (text: string) => string | undefined>> = {
    hex: (text) => ofLength(text)?.toLowerCase(),
    "hex-lower": ofLength,
    base64: ofLength,
    base64url: (text) => ofLength(text.endsWith(padding) ? text.slice(0, text.length - padding.length) : text),
  };
  return { read: readers[encoding], isWritten: (text) => pattern.test(text) };
}

const ALPHABETS: Readonly<Record<DigestEncoding, string>> = {
  hex: "[0-9a-f]",
  "hex-lower": "[0-9a-f]",
  base64: "[A-Za-z0-9+/]",
  base64url: "[A-Za-z0-9_-]",
};

/** Writes a digest the way {@link decodeDigest} reads it. */
export function encodeDigest(digest: Buffer, encoding: DigestEncoding): string {
  return digest.toString(textEncoding(encoding));
}

/** Node's name of the encoding. */
export function textEncoding(encoding: DigestEncoding): "hex" | "base64" | "base64url" {
  return encoding === "hex-lower" ? "hex" : encoding;
}

/** How the digests of a scheme are written. */
export function digestEncodingOf(config: {
  readonly encoding: "hex" | "base64" | "base64url";
  readonly hexCase?: "any" | "lower";
}): DigestEncoding {
  return config.encoding === "hex" && config.hexCase === "lower" ? "hex-lower" : config.encoding;
}

/** Decodes base64 key material; padding may be missing. `undefined` if the text is not base64, or stands for no bytes or none but zeros. */
export function decodeKey(text: string): Buffer | undefined {
  return keyBytes(BASE64.test(text) ? Buffer.from(text, "base64") : undefined);
}

/** The one place that says which bytes are a key. A single base64 digit decodes to nothing, and HMAC fills a short key up with zeros: anybody can sign with either. */
function keyBytes(bytes: Buffer | undefined): Buffer | undefined {
  return bytes === undefined || bytes.every((byte) => byte === 0) ? undefined : bytes;
}

/** The key bytes that a Secret's value stands for; `undefined` when it is not written in this encoding, or stands for no key. */
export function decodeSecret(value: Buffer, encoding: SecretEncoding): Buffer | undefined {
  if (encoding === "raw") return keyBytes(value);
  const text = value.toString("latin1");
  return encoding === "base64" ? decodeKey(text) : keyBytes(decodeHex(text, HEX_ANY));
}
