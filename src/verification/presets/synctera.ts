import type { Preset } from "./preset.ts";

/** Synctera: HMAC-SHA256 over `timestamp.body`. While a secret is rolled the header holds two signatures with a full stop between them. */
export const synctera: Preset = {
  name: "synctera",
  title: "Synctera",
  scheme: {
    type: "hmac",
    header: "synctera-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    separator: ".",
    signedContent: "{timestamp}.{body}",
    timestamp: { header: "request-timestamp", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the secret that POST /v0/webhook_secrets returned, not the API key" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 55 * 3_600_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["request-timestamp"],
  parameters: [],
  behaviour: { retries: "with growing delays for about 55 hours" },
  sample: {
    body: '{"id":"$id","type":"ACCOUNT.UPDATED","event_time":"$nowIso","event_resource":{},"event_resource_changed_fields":{},"webhook_id":"w1"}',
  },
  documentation: "https://docs.synctera.com/docs/webhooks-guide",
};
