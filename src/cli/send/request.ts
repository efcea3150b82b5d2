import { randomBytes } from "node:crypto";
import { isRecord } from "../../lib/record.ts";
import { Secret } from "../../lib/secret.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import type { VerificationKey, Verifier } from "../../verification/types.ts";
import { createVerifier } from "../../verification/verifier.ts";
import { sampleFor } from "./samples.ts";

/** As much of a route as one needs to know to send to it as its provider would. */
export interface Sender {
  readonly verification: RouteEntry["verification"];
  /** Where the delivery's id stands. */
  readonly sources: RouteEntry["dedupe"]["sources"];
  readonly requiredFields: readonly string[];
  /** `spec.publicUrl`, which some schemes sign. */
  readonly publicUrl: string;
  readonly keys: readonly VerificationKey[];
}

export interface Draft {
  /** Delivery id. */
  readonly id: string;
  /** Absent: a sample of the provider. */
  readonly body?: Buffer;
  /** Puts the id into the body where the provider has it there. */
  readonly idInBody: boolean;
  /** Signs something else. */
  readonly badSignature?: boolean;
  /** Unix ms. */
  readonly now: number;
  /** Extra fields for a sample body. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A request ready to be sent. Header names are in lower case. */
export interface SignedMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** What a published route wants of its sender. */
export function senderOf(entry: RouteEntry): Sender {
  return {
    verification: entry.verification,
    sources: entry.dedupe.sources,
    requiredFields: entry.payload.requiredFields,
    publicUrl: entry.publicUrl,
    keys: entry.keys.map(({ value, ...key }) => ({ ...key, secret: Secret.of(value, "base64") })),
  };
}

/**
 * Signs a message as the provider would.
 * @throws VerificationConfigError when there is no key that can sign
 */
export function signMessage(sender: Sender, path: string, draft: Draft): SignedMessage {
  const sample = sampleFor(sender.verification.type === "provider" ? sender.verification.provider : "", draft.now);
  const body = draft.body ?? Buffer.from(JSON.stringify(withFields(sample.body, sender, draft.fields)));
  const content = draft.idInBody ? withId(body, sender, draft.id) : body;
  const verifier = createVerifier(sender.verification, idHeaderOf(sender));
  const base = {
    "content-type": isJson(content) ? "application/json" : "text/plain; charset=utf-8",
    "user-agent": "davit-send",
    ...sample.headers,
    ...idHeaders(sender, draft.id),
  };
  const sign = (signed: Buffer) =>
    verifier.sign(
      { method: "POST", url: sender.publicUrl, path, body: signed, id: draft.id, headers: base },
      sender.keys,
      draft.now,
    ).headers;
  const headers = { ...base, ...sign(content) };
  if (!draft.badSignature) return { headers, body: content };
  const wrong = sign(Buffer.concat([content, randomBytes(8)]));
  return { headers: { ...base, ...spoil(verifier, headers, wrong) }, body: content };
}

/** The signature of another body: well formed, and wrong. Secrets that sign nothing are replaced. */
function spoil(
  { secretHeaders }: Verifier,
  right: Readonly<Record<string, string>>,
  wrong: Readonly<Record<string, string>>,
): Record<string, string> {
  const same = secretHeaders.filter((name) => right[name] === wrong[name] && right[name] !== undefined);
  return { ...wrong, ...Object.fromEntries(same.map((name) => [name, "not-the-secret"])) };
}

function idHeaderOf({ sources }: Sender): { readonly idHeader?: string } {
  const source = sources.find(({ from }) => from === "header");
  return source?.from === "header" ? { idHeader: source.name } : {};
}

function idHeaders({ sources }: Sender, id: string): Record<string, string> {
  return Object.fromEntries(sources.flatMap((source) => (source.from === "header" ? [[source.name, id]] : [])));
}

/** Required fields and ids of a sample; what the user wrote is sent as it is. */
function withFields(
  sample: Readonly<Record<string, unknown>>,
  { requiredFields }: Sender,
  fields: Draft["fields"],
): Record<string, unknown> {
  const names = requiredFields.map((name) => (name.startsWith("/") ? (name.split("/")[1] ?? "") : name));
  return { ...Object.fromEntries(names.map((name) => [name, "sample"])), ...sample, ...fields };
}

/** Only ids at the top level of an object can be set: that is where providers have them. */
function withId(body: Buffer, { sources }: Sender, id: string): Buffer {
  const names = sources.flatMap((source) =>
    source.from === "json" && /^\/[^/]+$/.test(source.pointer) ? [source.pointer.slice(1)] : [],
  );
  const object = parseObject(body);
  if (names.length === 0 || object === undefined) return body;
  return Buffer.from(JSON.stringify({ ...object, ...Object.fromEntries(names.map((name) => [name, id])) }));
}

function parseObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}
