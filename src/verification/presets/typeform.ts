import type { Preset } from "./preset.ts";

/**
 * Typeform: HMAC-SHA256 over the body, base64 behind `sha256=`. 404 and 410 switch the webhook off at once.
 */
export const typeform: Preset = {
  name: "typeform",
  title: "Typeform",
  scheme: {
    type: "hmac",
    header: "typeform-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "sha256=",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the secret of the webhook, as typed in its settings or set through the API",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 30_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries:
      "every 2 to 3 minutes for 10 hours after 408, 423, 429 and 503; otherwise up to seven times within 11 hours",
    danger: "404 and 410 disable the webhook at once",
  },
  sample: {
    body: '{"event_id":"$id","event_type":"form_response","form_response":{"form_id":"lT4Z3j","token":"a1","submitted_at":"$nowIso","answers":[]}}',
  },
  documentation: "https://www.typeform.com/developers/webhooks/secure-your-webhooks/",
};
