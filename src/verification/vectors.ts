import { createPublicKey, type JsonWebKey, X509Certificate } from "node:crypto";
import { VerificationConfigError, type VerifierConfig } from "./config.ts";
import type { Material, MaterialRequest } from "./material.ts";
import { presets } from "./presets/index.ts";
import { refuse, type Refusal } from "./refusal.ts";
import type { SignedRequest, Verdict, VerificationKey } from "./types.ts";
import { bindingOf, type SchemeBinding } from "./vector-schemes.ts";
import { createVerifier } from "./verifier.ts";
import { parseJson, valueAt, type Parsed } from "../lib/json-source.ts";
import { Secret } from "../lib/secret.ts";

/** One case of a file of signature vectors, for example `test/vectors/signatures.json`. */
export interface SignatureCase {
  readonly id: string;
  readonly provider?: string;
  readonly scheme: string;
  /** Several secrets are all current, as in the middle of a rotation. */
  readonly secret: string | readonly string[];
  /** How the secret is written: `utf8` (default), `hex` or `base64`; `[primary, secondary]` names the keys; any other text is a remark. */
  readonly secretEncoding?: string;
  readonly method?: string;
  readonly url?: string;
  /** Names in any case; a list is a header that was sent several times. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly bodyBase64: string;
  /** Unix seconds; the clock of the case. Absent: no time is checked. */
  readonly now?: number;
  readonly toleranceSec?: number;
  /** What the scheme needs besides: `certPem`, `key` (the name of the key), `header`, `alg`, `hash`, `encoding`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What {@link judgeCase} found. */
export type CaseResult = { readonly verdict: Verdict } | { readonly unsupported: string };

/** A case as a route would have it. */
export interface BoundCase {
  readonly config: VerifierConfig;
  readonly parameters: Readonly<Record<string, string>>;
  readonly keys: readonly VerificationKey[];
  /** `undefined`: the preset's own. 0: no time is checked. */
  readonly toleranceMs: number | undefined;
  /** Stands in for fetching: the certificate or JWK of the case, when it is the one that is asked for. */
  readonly material: (wanted: MaterialRequest) => Material | Refusal;
}

const SECRET_ENCODINGS: ReadonlyMap<string, BufferEncoding> = new Map([
  ["hex", "hex"],
  ["base64", "base64"],
  ["base64url", "base64url"],
]);

/**
 * Judges one case with its own clock. Never throws, whatever the case says. Settings that make no route (an empty or malformed parameter) accept nothing,
 * and are a verdict; a scheme that nobody knows, and what is no case at all, are `unsupported`.
 */
export function judgeCase(testCase: SignatureCase): CaseResult {
  try {
    const bound = bindCase(testCase);
    return "unsupported" in bound ? bound : { verdict: judge(bound, testCase) };
  } catch (error) {
    if (error instanceof VerificationConfigError) return { verdict: refuse("NoUsableKey", error.message) };
    return { unsupported: error instanceof Error ? `${error.name}: the case cannot be judged` : "no case" };
  }
}

/** What a route needs to judge a case: preset, parameters, keys. */
export function bindCase(testCase: SignatureCase): BoundCase | { readonly unsupported: string } {
  const found = bindingOf(testCase);
  if (!found) return { unsupported: `scheme ${testCase.scheme} not supported` };
  const { binding, config } = found;
  return {
    config,
    parameters: parametersOf(config, { ...testCase.extra, ...binding.parameters?.(testCase) }),
    keys: caseKeys(testCase, binding),
    toleranceMs: testCase.now === undefined ? 0 : optionalMs(testCase.toleranceSec),
    material: (wanted) => publicMaterial(testCase, wanted),
  };
}

function judge(bound: BoundCase, testCase: SignatureCase): Verdict {
  const { config, parameters, keys, toleranceMs } = bound;
  const verifier = createVerifier(config, { parameters, ...(toleranceMs !== undefined && { toleranceMs }) });
  const request = requestOf(testCase);
  const now = (testCase.now ?? 0) * 1_000;
  const wanted = verifier.needs?.(request);
  if (wanted === undefined) return verifier.verify(request, keys, now);
  if ("ok" in wanted) return wanted;
  const material = bound.material(wanted);
  return "ok" in material ? material : verifier.verify(request, keys, now, material);
}

/** The request of a case, as it would have been received. */
export function requestOf({ method, url, headers, bodyBase64 }: SignatureCase): SignedRequest {
  return plainRequest({
    method: method ?? "POST",
    url: url ?? "",
    path: pathOf(url),
    headers,
    body: Buffer.from(bodyBase64, "base64"),
  });
}

function optionalMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Those that the preset knows; its name for one may differ in case. */
function parametersOf(
  config: VerifierConfig,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const known = config.type === "provider" ? (presets.get(config.provider)?.parameters ?? []) : [];
  return Object.fromEntries(
    known.flatMap(({ name, values }) => {
      const key = Object.keys(given).find((candidate) => candidate.toLowerCase() === name.toLowerCase());
      const value = key === undefined ? undefined : given[key];
      if (typeof value !== "string" && typeof value !== "number") return [];
      const folded = values?.find((allowed) => allowed.toLowerCase() === String(value).toLowerCase());
      return [[name, folded ?? String(value)]];
    }),
  );
}

function caseKeys(testCase: SignatureCase, { secret }: SchemeBinding): readonly VerificationKey[] {
  if (secret === "parameter" || secret === "jwk") return [];
  const encoding = secret === "as-written" ? undefined : SECRET_ENCODINGS.get(testCase.secretEncoding ?? "");
  const names = keyNames(testCase);
  return keysOf([testCase.secret].flat(), encoding).map((key, index) => {
    const keyId = names.length === 1 ? names[0] : names[index];
    return keyId === undefined ? key : { ...key, keyId };
  });
}

/** What the keys are called: one name for all (`extra.key`), or one each (`secretEncoding: "[primary, secondary]"`). */
function keyNames({ secretEncoding = "", extra }: SignatureCase): readonly string[] {
  const name = extra?.["key"];
  if (typeof name === "string") return [name];
  return /^\[([\w, -]+)\]$/.exec(secretEncoding)?.[1]?.split(/, */) ?? [];
}

const NOT_THERE = refuse("MaterialUnavailable", "the provider has no such certificate or key");

/**
 * The certificate (`extra.certPem`) or JWK (the secret) of a case, in place of what would be fetched. Without a clock of the case, validity in time is no
 * question either.
 */
export function publicMaterial(
  { secret, extra, now }: Pick<SignatureCase, "secret" | "extra" | "now">,
  wanted: MaterialRequest,
): Material | Refusal {
  if (wanted.kind === "jwk") return jwkMaterial([secret].flat()[0] ?? "", wanted);
  const pem = extra?.["certPem"];
  return typeof pem === "string" ? certificateMaterial(pem, now !== undefined, wanted) : NOT_THERE;
}

function certificateMaterial(pem: string, hasClock: boolean, { id }: MaterialRequest): Material | Refusal {
  try {
    const { publicKey, validFromDate, validToDate } = new X509Certificate(pem);
    const validity = { notBefore: validFromDate.getTime(), notAfter: validToDate.getTime() };
    return { id, publicKey, ...(hasClock && validity) };
  } catch {
    return NOT_THERE;
  }
}

function jwkMaterial(text: string, { id }: MaterialRequest): Material | Refusal {
  const parsed = parseJson(Buffer.from(text));
  const kid = parsed.ok ? valueAt(parsed.value, ["kid"]) : undefined;
  if (!parsed.ok || typeof kid !== "string" || !id.endsWith(kid)) return NOT_THERE;
  try {
    return { id, publicKey: createPublicKey({ key: parsed.value as JsonWebKey, format: "jwk" }) };
  } catch {
    return NOT_THERE;
  }
}

/** A ring of current keys made of plain secrets; ids are their places. */
export function keysOf(secrets: readonly string[], encoding: BufferEncoding = "utf8"): readonly VerificationKey[] {
  return secrets.map((secret, index) => ({
    id: String(index).padStart(8, "0"),
    state: "current",
    secret: Secret.of(secret, encoding),
  }));
}

/** A request from plain data. */
export function plainRequest(
  parts: Pick<SignedRequest, "method" | "url" | "path" | "body"> & {
    readonly headers: Readonly<Record<string, string | readonly string[]>>;
  },
): SignedRequest {
  const { headers, ...rest } = parts;
  let parsed: Parsed | undefined;
  return { ...rest, header: headerLookup(headers), json: () => (parsed ??= parseJson(rest.body)) };
}

/** Header access over plain data. Values are UTF-8 here; a request has them as one character a byte, as Node reads them. */
function headerLookup(
  headers: Readonly<Record<string, string | readonly string[]>>,
): (name: string) => readonly string[] {
  const byName = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(headers)) {
    if (value === null || value === undefined) continue;
    const lower = name.toLowerCase();
    const values = [value].flat().map((one) => Buffer.from(one, "utf8").toString("latin1"));
    byName.set(lower, [...(byName.get(lower) ?? []), ...values]);
  }
  return (name) => byName.get(name) ?? [];
}

/** Path and query as written: a URL parser would rewrite them, and some schemes sign them. */
function pathOf(url: string | undefined): string {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^#]*)/i.exec(url ?? "")?.[1];
  return path?.startsWith("/") ? path : `/${path ?? ""}`;
}
