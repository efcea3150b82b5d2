import type { Preset } from "./preset.ts";

/** Sanity: `t=…,v1=…` over `t.body` with the time in milliseconds and the digest in base64url. The library holds the time against no clock. */
export const sanity: Preset = {
  name: "sanity",
  title: "Sanity",
  scheme: {
    type: "hmac",
    header: "sanity-webhook-signature",
    algorithm: "sha256",
    encoding: "base64url",
    prefix: "v1=",
    separator: ",",
    signedContent: "{timestamp}.{body}",
    timestamp: { param: "t", unit: "milliseconds" },
  },
  secrets: { signing: "shared", description: "the secret typed in when the webhook was made (Manage, API, Webhooks)" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "idempotency-key", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3_600_000,
  ackBudgetMs: 30_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["idempotency-key", "sanity-operation", "sanity-transaction-id", "sanity-document-id"],
  parameters: [],
  behaviour: {
    retries: "a few times, about 30 seconds apart",
    note: "the body is whatever the webhook's projection makes; the idempotency key is not signed and counts together with the body",
  },
  sample: {
    body: '{"_id":"drafts.1","_type":"post","_rev":"r1","title":"Hello"}',
    headers: { "idempotency-key": "$id", "sanity-operation": "update" },
  },
  documentation: "https://www.sanity.io/docs/webhooks",
};
