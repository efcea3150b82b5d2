import type { Preset } from "./preset.ts";

/**
 * Calendly: `t=…,v1=…` over `t.body`. Calendly's document advises three minutes. There is no id, and each attempt is signed anew.
 */
export const calendly: Preset = {
  name: "calendly",
  title: "Calendly",
  scheme: {
    type: "hmac",
    header: "calendly-webhook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v1=",
    signedContent: "{timestamp}.{body}",
    separator: ",",
    timestamp: { param: "t", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the signing key given when the webhook subscription is made" },
  toleranceMs: 180_000,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "for 24 hours, less and less often",
    danger: "after 24 hours without a 2xx the subscription is disabled and must be made anew",
  },
  sample: {
    body: '{"event":"invitee.created","created_at":"$nowIso","payload":{"uri":"https://api.calendly.com/scheduled_events/A/invitees/B","status":"active","name":"Ada"}}',
  },
  documentation: "https://developer.calendly.com/api-docs/ZG9jOjM2MzE2MDM4-webhook-signatures",
};
