import { isRecord } from "../../lib/record.ts";
import { Secret } from "../../lib/secret.ts";
import type { RouteEntry } from "../../routes/entry.ts";
import { presets } from "../../verification/presets/index.ts";
import type { Preset } from "../../verification/presets/preset.ts";
import type { SignedParts, VerificationKey } from "../../verification/types.ts";
import { createVerifier } from "../../verification/verifier.ts";
import { signingKeys } from "../signing-keys.ts";
import { idPlaces, type Unsigned, withId } from "./place-id.ts";
import { PLAIN_SAMPLE, steadySample } from "./sample.ts";

/** As much of a route as one needs to know to send to it as its provider would. */
export interface Sender {
  readonly verification: RouteEntry["verification"];
  readonly parameters: Readonly<Record<string, string>>;
  /** Where the delivery's id stands. */
  readonly sources: RouteEntry["dedupe"]["sources"];
  readonly requiredFields: readonly string[];
  /** `spec.verification.publicUrl`, which some schemes sign. */
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
  /** Signs with another secret. */
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
  /** Path and query, with what the scheme has there. */
  readonly path: string;
}

/** What a published route wants of its sender. */
export function senderOf(entry: RouteEntry): Sender {
  return {
    verification: entry.verification,
    parameters: entry.parameters,
    sources: entry.dedupe.sources,
    requiredFields: entry.payload.requiredFields,
    publicUrl: entry.publicUrl,
    keys: signingKeys(entry),
  };
}

/**
 * Signs a message as the provider would.
 * @param path path and query at which it is posted
 * @throws VerificationConfigError when there is no key that can sign
 */
export function signMessage(sender: Sender, path: string, draft: Draft): SignedMessage {
  const { headers, body } = unsigned(sender, draft);
  const { verification, parameters, publicUrl } = sender;
  const verifier = createVerifier(verification, { parameters, ...idHeaderOf(sender) });
  const keys = draft.badSignature ? sender.keys.map(spoiled) : sender.keys;
  const at = path.indexOf("?");
  const url = at === -1 || publicUrl.includes("?") ? publicUrl : publicUrl + path.slice(at);
  const input = { method: "POST", url, path, body, id: draft.id, headers };
  const signed: SignedParts = verifier.sign(input, keys, draft.now);
  return {
    headers: { ...headers, ...signed.headers },
    body: signed.body ?? body,
    path: signed.query === undefined ? path : path.replace(/\?.*$/, "") + signed.query,
  };
}

function unsigned(sender: Sender, { id, now, body, idInBody, fields }: Draft): Unsigned {
  const sample = sampleOf(sender);
  const filled = steadySample(sample, { id, now });
  const content = body ?? withFields(filled.body, { ...sender, fields });
  const message = {
    headers: { "user-agent": "davit-send", ...filled.headers, ...contentType(content, sample) },
    body: content,
  };
  const places = idPlaces(sender.sources, sample);
  return withId(message, idInBody ? places : places.filter(({ from }) => from === "header"), id);
}

function sampleOf({ verification }: Sender): Preset["sample"] {
  return (verification.type === "provider" ? presets.get(verification.provider)?.sample : undefined) ?? PLAIN_SAMPLE;
}

/** The sample's own bytes, unless the route demands fields that it lacks. */
function withFields(
  sample: Buffer,
  { requiredFields, fields = {} }: Pick<Sender, "requiredFields"> & { readonly fields: Draft["fields"] },
): Buffer {
  const parsed = parse(sample.toString());
  if (!isRecord(parsed)) return sample;
  const names = requiredFields.map((name) => (name.startsWith("/") ? (name.split("/")[1] ?? "") : name));
  const missing = names.filter((name) => !Object.hasOwn(parsed, name)).map((name) => [name, "sample"]);
  const added = { ...Object.fromEntries(missing), ...fields };
  return Object.keys(added).length === 0 ? sample : Buffer.from(JSON.stringify({ ...parsed, ...added }));
}

/** The sample's own type, unless the user's body is of another kind. */
function contentType(body: Buffer, { headers }: Preset["sample"]): Record<string, string> {
  const own = headers?.["content-type"];
  const isJson = parse(body.toString()) !== undefined;
  if (own !== undefined && own.includes("json") === isJson) return { "content-type": own };
  return { "content-type": isJson ? "application/json" : "text/plain; charset=utf-8" };
}

/** Another secret of the same form: what it signs is well formed, and wrong. */
function spoiled(key: VerificationKey): VerificationKey {
  const text = key.secret.reveal().toString("latin1");
  const middle = Math.max(0, text.length - 1 - Math.floor(text.length / 3));
  const changed = text.slice(0, middle) + other(text[middle] ?? "x") + text.slice(middle + 1);
  return { ...key, secret: Secret.of(changed, "latin1") };
}

/** Another character that fits wherever this one does: in hex, in base64, in a number. */
function other(character: string): string {
  if (/[0-9]/.test(character)) return character === "0" ? "1" : "0";
  if (/[a-z]/.test(character)) return character === "a" ? "b" : "a";
  return character === "A" ? "B" : "A";
}

function idHeaderOf({ sources }: Sender): { readonly idHeader?: string } {
  const source = sources.find(({ from }) => from === "header");
  return source?.from === "header" ? { idHeader: source.name } : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
