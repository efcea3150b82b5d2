import type { HmacConfig, TokenConfig } from "../verification/config.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";

/** The scheme of a route as the verifier takes it. Structurally the `VerificationConfig` of a route's entry. */
export type RouteVerifierConfig =
  | { readonly type: "provider"; readonly provider: string }
  | Omit<HmacConfig, "idHeader" | "hexCase" | "requiredHeaders">
  | TokenConfig
  | { readonly type: "basic" }
  | { readonly type: "none" };

/** Reads the scheme from a resolved spec, which holds exactly one. */
export function verifierConfig({ verification }: ResolvedWebhookRouteSpec): RouteVerifierConfig {
  const { provider, hmac, token, basic } = verification;
  if (provider !== undefined) return { type: "provider", provider };
  if (token !== undefined) return { type: "token", header: token.header, prefix: token.prefix ?? "" };
  if (basic !== undefined) return { type: "basic" };
  if (hmac === undefined) return { type: "none" };
  const { timestamp, ...rest } = hmac;
  return {
    type: "hmac",
    ...rest,
    ...(timestamp === undefined ? {} : { timestamp: { unit: "seconds", ...timestamp } }),
  };
}
