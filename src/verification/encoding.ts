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

/** Writes a digest the way {@link decodeDigest} reads it. */
export function encodeDigest(digest: Buffer, encoding: DigestEncoding): string {
  return digest.toString(encoding === "hex-lower" ? "hex" : encoding);
}

/** Decodes base64 key material; padding may be missing. `undefined` if the text is not base64 or empty. */
export function decodeKey(text: string): Buffer | undefined {
  const key = BASE64.test(text) ? Buffer.from(text, "base64") : undefined;
  // A single base64 digit decodes to nothing, and with an empty key anybody can sign.
  return key?.length === 0 ? undefined : key;
}

/** The key bytes that a Secret's value stands for; `undefined` when it is not written in this encoding, or stands for no bytes at all. */
export function decodeSecret(value: Buffer, encoding: SecretEncoding): Buffer | undefined {
  if (encoding === "raw") return value.length === 0 ? undefined : value;
  const text = value.toString("latin1");
  return encoding === "base64" ? decodeKey(text) : decodeHex(text, HEX_ANY);
}
