import type { Preset } from "./preset.ts";

/** GoCardless: HMAC-SHA256 over the body in hex. Events come in batches; a batch is delivered again as it was, under the same `meta.webhook_id`. */
export const gocardless: Preset = {
  name: "gocardless",
  title: "GoCardless",
  scheme: {
    type: "hmac",
    header: "webhook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the secret of the webhook endpoint (Dashboard, Developers)" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/meta/webhook_id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 204 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["origin"],
  parameters: [],
  behaviour: {
    retries: "up to eight times with growing delays",
    danger: "a redirect counts as a failure",
    note: "a wrong signature gets 401 here, where GoCardless suggests 498; to it both are failures. Dedupe the events of a batch by their own id",
  },
  sample: {
    body: '{"events":[{"id":"EV123","created_at":"$nowIso","resource_type":"payments","action":"confirmed","links":{"payment":"PM123"}}],"meta":{"webhook_id":"$id"}}',
  },
  documentation: "https://developer.gocardless.com/getting-started/api/staying-up-to-date-with-webhooks/",
};
