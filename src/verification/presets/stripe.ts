import type { Preset } from "./preset.ts";

/**
 * Stripe: `t=…,v1=…[,v1=…]` over `t.body`, several `v1` while a secret rolls. The secret is used as it is written, `whsec_` included.
 * Stripe's libraries check the past only; a timestamp from the future is refused here as well. A retry carries a fresh timestamp and
 * signature and the same event id, for up to 3 days.
 */
export const stripe: Preset = {
  name: "stripe",
  title: "Stripe",
  scheme: {
    type: "hmac",
    header: "stripe-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v1=",
    separator: ",",
    signedContent: "{timestamp}.{body}",
    timestamp: { param: "t", unit: "seconds" },
  },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  responseStatus: 202,
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  showHeaders: [],
  parameters: [],
  documentation: "https://docs.stripe.com/webhooks#verify-manually",
};
