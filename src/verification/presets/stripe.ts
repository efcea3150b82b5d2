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
  secrets: { signing: "shared", description: "the endpoint's signing secret, whsec_… included" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "for 3 days in live mode, each time with a fresh timestamp and signature and the same event id",
    danger: "a redirect counts as a failure",
  },
  sample: {
    body: '{"id":"$id","object":"event","type":"invoice.paid","data":{"object":{"object":"invoice","amount_paid":4200,"currency":"eur"}}}',
  },
  documentation: "https://docs.stripe.com/webhooks#verify-manually",
};
