import type { Preset } from "./preset.ts";

/**
 * Zendesk: base64 HMAC-SHA256 over `timestamp` and body, the timestamp in RFC 3339. The secret is used as written although it looks like base64. Zendesk's
 * own example checks no tolerance.
 */
export const zendesk: Preset = {
  name: "zendesk",
  title: "Zendesk",
  scheme: {
    type: "hmac",
    header: "x-zendesk-webhook-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{timestamp}{body}",
    timestamp: { header: "x-zendesk-webhook-signature-timestamp", unit: "rfc3339" },
    idHeader: "x-zendesk-webhook-invocation-id",
  },
  secrets: {
    signing: "shared",
    description:
      "the webhook's signing secret, revealed in the Admin Center; test requests use a fixed one of Zendesk's document",
  },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-zendesk-webhook-invocation-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 12_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-zendesk-webhook-id",
    "x-zendesk-webhook-invocation-id",
    "x-zendesk-webhook-signature-timestamp",
    "x-zendesk-account-id",
  ],
  parameters: [],
  behaviour: {
    retries: "three times after 409, up to five after timeouts; 429 and 503 when Retry-After is below 60 s",
    danger: "70 % errors, or 1000, within five minutes pause the webhook",
    note: "bodies of triggers and automations are free text and may have no type",
  },
  sample: {
    body: '{"type":"zen:event-type:user.created","account_id":1,"id":"01HX3M5N","time":"$nowIso","zendesk_event_version":"2022-06-20","subject":"zen:user:2","detail":{"id":"2"},"event":{}}',
  },
  documentation: "https://developer.zendesk.com/documentation/webhooks/verifying/",
};
