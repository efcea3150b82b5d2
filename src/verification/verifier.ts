import {
  VerificationConfigError,
  type PresetScheme,
  type SchemeConfig,
  type VerifierConfig,
  type VerifierOptions,
} from "./config.ts";
import { presets } from "./presets/index.ts";
import type { Preset } from "./presets/preset.ts";
import { basicScheme } from "./schemes/basic.ts";
import { hmacScheme } from "./schemes/hmac.ts";
import { noneScheme } from "./schemes/none.ts";
import { standardWebhooksScheme } from "./schemes/standard-webhooks.ts";
import { tokenScheme } from "./schemes/token.ts";
import { compileTemplate } from "./template.ts";
import type { SignInput, VerificationKey, Verifier } from "./types.ts";

/**
 * Makes the verifier of a route. Build it once: it prepares the keys of a ring on first sight and keeps them as long as it is given the same array.
 *
 * @throws VerificationConfigError when the provider is unknown or the settings contradict each other
 */
export function createVerifier(config: VerifierConfig, options: VerifierOptions = {}): Verifier {
  if (config.type !== "provider") return createScheme(config, options);
  const preset = presetOf(config.provider);
  return createScheme(schemeOf(preset.scheme, options.parameters), {
    ...options,
    toleranceMs: options.toleranceMs ?? preset.toleranceMs,
  });
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
 * Whether the signature covers a header or, for `body`, the body: decides `signed` of a dedupe source.
 *
 * @param what lower-case header name, or `body`
 * @param idHeader the header that `{id}` stands for
 */
export function isSigned(config: VerifierConfig, what: { header: string } | "body", idHeader?: string): boolean {
  const scheme: SchemeConfig = config.type === "provider" ? schemeOf(presetOf(config.provider).scheme) : config;
  if (scheme.type === "standard-webhooks") return what === "body" || what.header === "webhook-id";
  if (scheme.type !== "hmac" || typeof scheme.signedContent !== "string") return false;
  return compileTemplate(scheme.signedContent).some((segment) => {
    if (what === "body") return segment.type === "body";
    if (segment.type === "header") return segment.name === what.header;
    return segment.type === "id" && what.header === ("idHeader" in scheme ? scheme.idHeader : idHeader)?.toLowerCase();
  });
}

function createScheme(config: SchemeConfig, options: VerifierOptions): Verifier {
  switch (config.type) {
    case "hmac":
      return hmacScheme(config, options);
    case "standard-webhooks":
      return standardWebhooksScheme(options);
    case "token":
      return tokenScheme(config);
    case "basic":
      return basicScheme();
    case "custom":
      return config.create(options);
    case "none":
      return noneScheme();
    default:
      throw new TypeError(`scheme ${config.type} is not built`);
  }
}
