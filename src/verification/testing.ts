import type { Preset, PresetParameter } from "./presets/preset.ts";
import type { SignedParts, SignedRequest, SignInput } from "./types.ts";
import { plainRequest } from "./vectors.ts";

/** A request as it arrives once it was signed: with the body and the query that signing made, if it made any. */
export function signedRequest(input: SignInput, { headers, body = input.body, query }: SignedParts): SignedRequest {
  const withQuery = (text: string) =>
    query === undefined ? text : `${text.split("?", 1)[0]}?${query.replace(/^\?/, "")}`;
  return plainRequest({
    method: input.method,
    url: withQuery(input.url),
    path: withQuery(input.path),
    headers: { ...input.headers, ...headers },
    body,
  });
}

/** Texts of the kinds that parameters have: names, ids, ARNs, URLs. */
const TEXTS = ["sample", "1JE4291016473214C", "arn:aws:sns:eu-central-1:123456789012:orders", "https://example.com/in"];

/** A value for each parameter that a preset cannot do without. */
export function sampleParameters({ name, parameters }: Preset): Readonly<Record<string, string>> {
  const required = parameters.filter((parameter) => parameter.required);
  return Object.fromEntries(required.map((parameter) => [parameter.name, sampleValue(name, parameter)]));
}

function sampleValue(provider: string, { name, values, pattern }: PresetParameter): string {
  const value = values?.[0] ?? TEXTS.find((text) => pattern?.test(text) ?? true);
  if (value === undefined) throw new Error(`${provider}: no sample fits the parameter ${name}; add one to TEXTS`);
  return value;
}
