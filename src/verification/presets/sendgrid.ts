import type { Preset } from "./preset.ts";

/**
 * SendGrid Event Webhook, signed: ECDSA on P-256 with SHA-256 over `timestamp` and body, signature in DER as base64. SendGrid's library checks no tolerance.
 * Events come as a list; only a list of one has an id.
 */
export const sendgrid: Preset = {
  name: "sendgrid",
  title: "SendGrid Event Webhook",
  scheme: {
    type: "public-key",
    header: "x-twilio-email-event-webhook-signature",
    algorithm: "ecdsa-p256",
    keyFormat: "spki-base64",
    encoding: "base64",
    prefix: "",
    signedContent: "{timestamp}{body}",
    timestamp: { header: "x-twilio-email-event-webhook-timestamp", unit: "seconds" },
  },
  secrets: {
    signing: "public-key",
    description: "the verification key in base64, under Mail Settings, Event Webhooks, Security features",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/0/sg_event_id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/0/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-twilio-email-event-webhook-timestamp"],
  parameters: [],
  behaviour: {
    retries: "for 24 hours after 5xx and timeouts",
    danger: "events answered 3xx or 4xx are dropped",
    note: "a request holds a list of events: dedupe them by sg_event_id in the destination",
  },
  sample: {
    body: '[{"sg_event_id":"$id","sg_message_id":"m1","event":"delivered","timestamp":$now,"category":"receipts"}]',
  },
  documentation:
    "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
};
