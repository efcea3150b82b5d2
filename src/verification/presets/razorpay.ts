import type { Preset } from "./preset.ts";

/**
 * Razorpay: HMAC-SHA256 over the body. `x-razorpay-event-id` is not signed; it is the event's and stays the same over retries.
 */
export const razorpay: Preset = {
  name: "razorpay",
  title: "Razorpay",
  scheme: {
    type: "hmac",
    header: "x-razorpay-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
    idHeader: "x-razorpay-event-id",
  },
  secrets: {
    signing: "shared",
    description: "the secret of the webhook, as typed in the dashboard; not the API key's secret",
  },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-razorpay-event-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-razorpay-event-id"],
  parameters: [],
  behaviour: {
    retries: "for 24 hours, less and less often; a replay within 15 days can be asked for",
    danger: "after 24 hours of failures the webhook is disabled",
    note: "retries of older events are signed with the secret of their time: keep the old key while rotating",
  },
  sample: {
    body: '{"entity":"event","event":"payment.captured","contains":["payment"],"payload":{"payment":{"entity":{"id":"pay_1","amount":4200,"currency":"INR"}}},"created_at":$now}',
  },
  documentation: "https://razorpay.com/docs/webhooks/validate-test/",
};
