import { isRecord } from "../../lib/record.ts";
import { parseJson } from "../../lib/json-source.ts";
import type { PreparedKey } from "../keys.ts";
import { cannotSign } from "../signer.ts";
import { formatTimestamp } from "../timestamp.ts";
import type { SignedParts, SignInput, VerificationKey } from "../types.ts";
import type { SignatureAlgorithm } from "./algorithm.ts";
import type { SignatureSettings, TimestampPlace } from "./settings.ts";
import { signedContents } from "./signed-content.ts";

/**
 * Signs a request as the sender would.
 *
 * @throws VerificationConfigError `CannotSign`
 */
export function signRequest<M, S>(
  { settings, algorithm }: { readonly settings: SignatureSettings; readonly algorithm: SignatureAlgorithm<M, S> },
  signer: PreparedKey<M>,
  input: SignInput,
  now: number,
): SignedParts {
  const place = settings.timestamp;
  const timestamp = place && formatTimestamp(now, place.unit);
  const headers: Record<string, string> = {
    ...input.headers,
    ...sideHeaders(settings, signer.key, input.id, timestamp),
  };
  const body = place?.from === "json" ? stampBody(input.body, place, now) : input.body;
  const content = contentToSign(settings, { ...input, body, headers }, timestamp);
  const signature = settings.prefix + algorithm.sign(signer.material, content);
  const value = place?.from === "param" ? `${place.name}=${timestamp}${settings.separator}${signature}` : signature;
  return {
    headers: { ...headers, [settings.headers[0] ?? ""]: value },
    ...(body !== input.body && { body }),
  };
}

/** The first of the contents: where a provider has several, it is the one that new senders use. */
function contentToSign(
  settings: SignatureSettings,
  input: SignInput & { readonly headers: Readonly<Record<string, string>> },
  timestamp: string | undefined,
) {
  const lookup = (name: string) => (input.headers[name] === undefined ? [] : [input.headers[name]]);
  const request = { ...input, header: lookup, json: () => parseJson(input.body) };
  const contents = signedContents(settings, request, { values: [], timestamp, id: input.id });
  if ("ok" in contents) throw cannotSign(`${contents.detail}: give its value in headers`);
  const [content] = contents;
  if (!content) throw cannotSign("this request has nothing that could be signed");
  return content;
}

/** The headers beside the signature: timestamp, delivery id, key id. */
function sideHeaders(
  { timestamp: place, idHeader, keyIdHeader }: SignatureSettings,
  key: VerificationKey,
  id: string,
  timestamp: string | undefined,
): Record<string, string> {
  return {
    ...(place?.from === "header" && timestamp !== undefined && { [place.name]: timestamp }),
    ...(idHeader !== undefined && { [idHeader]: id }),
    ...(keyIdHeader !== undefined && key.keyId !== undefined && { [keyIdHeader]: key.keyId }),
  };
}

/** The body with the time of signing in its field. */
function stampBody(body: Buffer, place: Extract<TimestampPlace, { from: "json" }>, now: number): Buffer {
  const text = formatTimestamp(now, place.unit);
  const parsed = parseJson(body);
  const root = parsed.ok ? parsed.value : undefined;
  let parent: unknown = root;
  for (const token of place.tokens.slice(0, -1)) parent = isRecord(parent) ? parent[token] : undefined;
  if (!isRecord(parent)) throw cannotSign(`the body must be a JSON object that can hold ${place.pointer}`);
  Object.assign(parent, { [place.tokens.at(-1) ?? ""]: place.unit === "rfc3339" ? text : Number(text) });
  return Buffer.from(JSON.stringify(root));
}
