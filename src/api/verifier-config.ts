import type { RouteVerification } from "../verification/config.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";

/** Reads the scheme from a resolved spec, which holds exactly one. */
export function verifierConfig({ verification }: ResolvedWebhookRouteSpec): RouteVerification {
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
