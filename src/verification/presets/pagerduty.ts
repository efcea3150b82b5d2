import type { Preset } from "./preset.ts";

/**
 * PagerDuty, webhooks v3: `v1=…[,v1=…]`, HMAC-SHA256 over the body, several while a secret rotates. An event answered 4xx is dropped for good: what is
 * Davit's fault is answered 5xx.
 */
export const pagerduty: Preset = {
  name: "pagerduty",
  title: "PagerDuty (webhooks v3)",
  scheme: {
    type: "hmac",
    header: "x-pagerduty-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v1=",
    signedContent: "{body}",
    separator: ",",
  },
  secrets: { signing: "shared", description: "the secret shown once when the webhook subscription is made" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 2 * 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event/event_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-webhook-id"],
  parameters: [],
  behaviour: {
    retries: "up to 48 hours after 5xx, 429 and timeouts",
    danger: "4xx drops the event for good; three dropped ones switch the webhook off for 24 hours",
    note: "a wrong Secret is answered 401 and loses events: watch the condition VerificationFailing",
  },
  sample: {
    body: '{"event":{"id":"$id","event_type":"incident.triggered","resource_type":"incident","occurred_at":"$nowIso","data":{"id":"PGR0VU2","type":"incident","title":"Disk is full"}}}',
  },
  documentation: "https://developer.pagerduty.com/docs/verifying-webhook-signatures",
};
