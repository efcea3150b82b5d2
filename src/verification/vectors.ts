import { createVerifier } from "./verifier.ts";
import type { VerifierConfig } from "./config.ts";
import type { SignedRequest, Verdict, VerificationKey } from "./types.ts";
import { parseJson, type Parsed } from "../lib/json-source.ts";
import { Secret } from "../lib/secret.ts";

/** One case of a file of signature vectors, for example `test/vectors/signatures.json`. */
export interface SignatureCase {
  readonly id: string;
  readonly scheme: string;
  /** Several secrets are all current, as in the middle of a rotation. */
  readonly secret: string | readonly string[];
  /** How the secret is written: `utf8` (default), `hex` or `base64`. */
  readonly secretEncoding?: string;
  readonly method?: string;
  readonly url?: string;
  /** Names in any case; a list is a header that was sent several times. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly bodyBase64: string;
  /** Unix seconds; the clock of the case. */
  readonly now?: number;
  readonly toleranceSec?: number;
}

/** What {@link judgeCase} found. */
export type CaseResult = { readonly verdict: Verdict } | { readonly unsupported: string };

const SCHEMES: ReadonlyMap<string, VerifierConfig> = new Map([
  ["github-sha256", { type: "provider", provider: "github" }],
  ["stripe-v1", { type: "provider", provider: "stripe" }],
  ["standard-webhooks-v1", { type: "provider", provider: "standard-webhooks" }],
  ["standard-webhooks-v1a", { type: "provider", provider: "standard-webhooks" }],
  ["queue-push", { type: "provider", provider: "queue-push" }],
]);

const SECRET_ENCODINGS: ReadonlyMap<string, BufferEncoding> = new Map([
  ["utf8", "utf8"],
  ["raw", "utf8"],
  ["hex", "hex"],
  ["base64", "base64"],
]);

/** Judges one case with its own clock. A case without `now` has no time check to pass; the clock then stands at 0. */
export function judgeCase(testCase: SignatureCase): CaseResult {
  const config = SCHEMES.get(testCase.scheme);
  if (!config) return { unsupported: `scheme ${testCase.scheme} not supported` };
  const encoding = SECRET_ENCODINGS.get(testCase.secretEncoding ?? "utf8");
  if (!encoding) return { unsupported: `secretEncoding ${testCase.secretEncoding} not supported` };
  const tolerance = testCase.toleranceSec;
  const verifier = createVerifier(config, { ...(tolerance !== undefined && { toleranceMs: tolerance * 1_000 }) });
  const request = plainRequest({
    method: testCase.method ?? "POST",
    url: testCase.url ?? "",
    path: pathOf(testCase.url),
    headers: testCase.headers,
    body: Buffer.from(testCase.bodyBase64, "base64"),
  });
  const keys = keysOf([testCase.secret].flat(), encoding);
  return { verdict: verifier.verify(request, keys, (testCase.now ?? 0) * 1_000) };
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

/** Header access over plain data. */
export function headerLookup(
  headers: Readonly<Record<string, string | readonly string[]>>,
): (name: string) => readonly string[] {
  const byName = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    byName.set(lower, [...(byName.get(lower) ?? []), ...[value].flat()]);
  }
  return (name) => byName.get(name) ?? [];
}

function pathOf(url: string | undefined): string {
  if (url === undefined || !URL.canParse(url)) return "/";
  const { pathname, search } = new URL(url);
  return pathname + search;
}
