import type { Preset } from "./preset.ts";

/** Customer.io's reporting webhooks: HMAC-SHA256 over `v0:timestamp:body`, as Slack does. No tolerance is documented. */
export const customerIo: Preset = {
  name: "customer-io",
  title: "Customer.io",
  scheme: {
    type: "hmac",
    header: "x-cio-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "v0:{timestamp}:{body}",
    timestamp: { header: "x-cio-timestamp", unit: "seconds" },
  },
  secrets: {
    signing: "shared",
    description: "the webhook signing key (Data & Integrations, Integrations, Reporting Webhooks)",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 4_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/metric" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-cio-timestamp"],
  parameters: [],
  behaviour: {
    retries: "with growing delays for 7 days, an hour more after 4xx and 5xx",
    danger: "later events wait behind one that fails",
  },
  sample: {
    body: '{"event_id":"$id","object_type":"email","metric":"delivered","timestamp":$now,"data":{"customer_id":"1","delivery_id":"d1"}}',
  },
  documentation: "https://docs.customer.io/integrations/api/webhooks/",
};
