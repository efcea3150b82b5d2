import type { Preset } from "./preset.ts";

/**
 * Square: base64 HMAC-SHA256 over notification URL and body. The URL is the one of the subscription, byte for byte. `event_id` is the value to tell
 * repetitions by.
 */
export const square: Preset = {
  name: "square",
  title: "Square",
  scheme: {
    type: "hmac",
    header: "x-square-hmacsha256-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{url}{body}",
  },
  secrets: { signing: "shared", description: "the signature key of the webhook subscription" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "square-environment",
    "square-initial-delivery-timestamp",
    "square-retry-number",
    "square-retry-reason",
  ],
  parameters: [],
  behaviour: {
    retries: "for up to 72 hours",
    danger: "three weeks without a single 2xx disable the subscription; redirects are failures",
    note: "publicUrl must be the notification URL exactly",
  },
  sample: {
    body: '{"merchant_id":"M1","type":"payment.updated","event_id":"$id","created_at":"$nowIso","data":{"type":"payment","id":"p1"}}',
  },
  documentation: "https://developer.squareup.com/docs/webhooks/step3validate",
};
