import {
  VerificationConfigError,
  type SchemeConfig,
  type PresetScheme,
  type VerifierConfig,
  type VerifierOptions,
} from "./config.ts";
import { checkParameters } from "./parameters.ts";
import { presets } from "./presets/index.ts";
import type { Preset } from "./presets/preset.ts";
import { basicKind } from "./schemes/basic.ts";
import { customKind } from "./schemes/custom.ts";
import { hmacKind } from "./schemes/hmac.ts";
import { jwtKind } from "./schemes/jwt.ts";
import { noneKind } from "./schemes/none.ts";
import { prefixHashKind } from "./schemes/prefix-hash.ts";
import { publicKeyKind } from "./schemes/public-key.ts";
import { queryTokenKind } from "./schemes/query-token.ts";
import type { SchemeDescription, SchemeKind } from "./schemes/scheme-kind.ts";
import { standardWebhooksKind } from "./schemes/standard-webhooks.ts";
import { tokenKind } from "./schemes/token.ts";
import type { SignInput, VerificationKey, Verifier } from "./types.ts";

/** Every kind of scheme by `type`. */
const KINDS: { readonly [T in SchemeConfig["type"]]: SchemeKind<Extract<SchemeConfig, { type: T }>> } = {
  hmac: hmacKind,
  "prefix-hash": prefixHashKind,
  "public-key": publicKeyKind,
  jwt: jwtKind,
  "standard-webhooks": standardWebhooksKind,
  token: tokenKind,
  "query-token": queryTokenKind,
  basic: basicKind,
  custom: customKind,
  none: noneKind,
};

/**
 * Makes the verifier of a route. Build it once: it prepares the keys of a ring on first sight and keeps them as long as it is given the same array.
 *
 * @throws VerificationConfigError when the provider or a parameter is unknown, or the settings contradict each other
 */
export function createVerifier(config: VerifierConfig, options: VerifierOptions = {}): Verifier {
  if (config.type !== "provider") return verifierOf(config, options);
  const preset = presetOf(config.provider);
  checkParameters(preset, options.parameters ?? {});
  const scheme = schemeOf(preset.scheme, options.parameters);
  return verifierOf(scheme, { ...options, toleranceMs: options.toleranceMs ?? preset.toleranceMs });
}

/**
 * Makes the verifier of a scheme, also of one that only presets can have.
 *
 * @throws VerificationConfigError when the settings contradict each other
 */
export function verifierOf(scheme: SchemeConfig, options: VerifierOptions = {}): Verifier {
  return kindOf(scheme).create(scheme, options);
}

/** The scheme of a preset under a route's parameters. */
export function schemeOf(scheme: PresetScheme, parameters: Readonly<Record<string, string>> = {}): SchemeConfig {
  return typeof scheme === "function" ? scheme(parameters) : scheme;
}

/**
 * Signs a request as the sender of this scheme would.
 *
 * @returns headers by lower-case name
 * @throws VerificationConfigError as {@link createVerifier}, and `CannotSign` when no key can sign
 */
export function signAs(
  config: VerifierConfig,
  keys: readonly VerificationKey[],
  input: SignInput,
  now: number,
): Readonly<Record<string, string>> {
  return createVerifier(config).sign(input, keys, now).headers;
}

/**
 * The preset of a provider.
 *
 * @throws VerificationConfigError `UnknownProvider`
 */
export function presetOf(provider: string): Preset {
  const preset = presets.get(provider);
  if (preset) return preset;
  throw new VerificationConfigError(
    "UnknownProvider",
    `verification.provider: "${provider}" is unknown; use one of ${[...presets.keys()].join(", ")}`,
  );
}

/**
 * Whether the signature covers a header, a field of the body or, for `body`, all of it: decides `signed` of a dedupe source.
 *
 * @param what lower-case header name, JSON pointer, or `body`
 * @param options the header that `{id}` stands for where the scheme does not say; the route's parameters, by which a preset may choose its scheme
 */
export function isSigned(
  config: VerifierConfig,
  what: { header: string } | { json: string } | "body",
  { idHeader, parameters }: Pick<VerifierOptions, "idHeader" | "parameters"> = {},
): boolean {
  const scheme = config.type === "provider" ? schemeOf(presetOf(config.provider).scheme, parameters) : config;
  const covers = kindOf(scheme).covers(scheme, idHeader);
  if (what === "body") return covers.body;
  if ("header" in what) return covers.headers.includes(what.header);
  return covers.body || covers.fields?.includes(what.json) === true;
}

/** Whether the scheme signs a timestamp that is held against the tolerance. */
export function signsTime(scheme: SchemeConfig): boolean {
  return kindOf(scheme).signsTime(scheme);
}

/** Whether the signature covers the URL that is set up at the sender, so that a route must say it exactly (`publicUrl`). The path alone is no such thing. */
export function signsUrl(scheme: SchemeConfig): boolean {
  return kindOf(scheme).signsUrl(scheme);
}

/** Whether the `keyId` of a key is ever looked at. What a provider's own function looks at is not known: it counts as yes. */
export function readsKeyIds(scheme: SchemeConfig): boolean {
  return kindOf(scheme).readsKeyIds(scheme);
}

/** The scheme for people: where the signature stands, its algorithm, what it covers. */
export function describeScheme(scheme: SchemeConfig): SchemeDescription {
  return kindOf(scheme).describe(scheme);
}

function kindOf(scheme: SchemeConfig): SchemeKind<SchemeConfig> {
  return KINDS[scheme.type];
}
