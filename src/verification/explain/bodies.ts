import { isUtf8 } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import { finding } from "./finding.ts";
import { jsonStyles } from "./json-styles.ts";
import { bodyVariant, type Variant } from "./variants.ts";

const BOM = Buffer.from("efbbbf", "hex");
/** A body that unpacks to more is left alone: a small one can claim to be gigabytes. */
const MAX_UNPACKED_BYTES = 16 * 1_024 * 1_024;
const MAX_JSON_BYTES = 1_024 * 1_024;

/** Ways in which a body is changed between sender and check, likely ones first. */
const simple = (): readonly Variant[] => [
  bodyVariant(finding("BodyLineEndAdded"), (body) => withoutEnd(body, "\n")),
  bodyVariant(finding("BodyLineEndAdded"), (body) => withoutEnd(body, "\r\n")),
  bodyVariant(finding("BodyLineEndMissing"), (body) => Buffer.concat([body, Buffer.from("\n")])),
  bodyVariant(finding("BodyLineEndMissing"), (body) => Buffer.concat([body, Buffer.from("\r\n")])),
  bodyVariant(finding("BodyCrlf"), (body) => bytewise(body, (form) => form.replaceAll("\r\n", "\n"))),
  bodyVariant(finding("BodyLf"), (body) => bytewise(body, (form) => form.replaceAll(/\r?\n/g, "\r\n"))),
  bodyVariant(finding("BodyBomAdded"), (body) => (body.subarray(0, 3).equals(BOM) ? body.subarray(3) : undefined)),
  bodyVariant(finding("BodyBomMissing"), (body) => Buffer.concat([BOM, body])),
  bodyVariant(finding("BodyGzipped"), gunzipped),
  // Level and header differ between senders; zlib's defaults are what most use.
  bodyVariant(finding("BodyGunzipped"), (body) => (body.length <= MAX_JSON_BYTES ? gzipSync(body) : undefined)),
  bodyVariant(finding("BodyUrlEncoded"), (body) => asText(body, (form) => decodeUri(form.replaceAll("+", " ")))),
  bodyVariant(finding("BodyUrlEncoded"), (body) => asText(body, decodeUri)),
  bodyVariant(finding("BodyUrlDecoded"), (body) => asText(body, encodeURIComponent)),
  bodyVariant(finding("BodyUrlDecoded"), (body) => asText(body, encodeURI)),
  bodyVariant(finding("BodyBase64"), fromBase64),
  bodyVariant(finding("BodyMojibake"), (body) =>
    asText(body, (read) => (isLatin1(read) ? Buffer.from(read, "latin1") : undefined)),
  ),
  bodyVariant(finding("BodyEmpty"), () => Buffer.alloc(0)),
];

/** What the sender may have signed instead of this body: at most 100, JSON written in other ways included. */
export function bodyVariants(body: Buffer): readonly Variant[] {
  return [...simple(), ...reencoded(body)];
}

function reencoded(body: Buffer): Variant[] {
  if (body.length > MAX_JSON_BYTES || !isUtf8(body)) return [];
  return jsonStyles(body.toString("utf8")).map(({ how, text }) =>
    bodyVariant(finding("BodyReencoded", { how }), () => Buffer.from(text)),
  );
}

function withoutEnd(body: Buffer, end: string): Buffer | undefined {
  return body.length >= end.length && body.subarray(-end.length).equals(Buffer.from(end))
    ? body.subarray(0, -end.length)
    : undefined;
}

function bytewise(body: Buffer, change: (form: string) => string): Buffer {
  return Buffer.from(change(body.toString("latin1")), "latin1");
}

function asText(body: Buffer, change: (form: string) => string | Buffer | undefined): Buffer | undefined {
  if (!isUtf8(body)) return undefined;
  const changed = change(body.toString("utf8"));
  return typeof changed === "string" ? Buffer.from(changed) : changed;
}

function decodeUri(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function isLatin1(text: string): boolean {
  return !/[^\u0020-\u00ff\t\r\n]/.test(text);
}

function fromBase64(body: Buffer): Buffer | undefined {
  const form = body.toString("latin1").trim();
  return /^[A-Za-z0-9+/]+={0,2}$/.test(form) ? Buffer.from(form, "base64") : undefined;
}

function gunzipped(body: Buffer): Buffer | undefined {
  if (body[0] !== 0x1f || body[1] !== 0x8b) return undefined;
  try {
    return gunzipSync(body, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch {
    return undefined;
  }
}
