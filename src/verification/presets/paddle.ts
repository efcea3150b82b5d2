import type { Preset } from "./preset.ts";

/**
 * Paddle Billing: `ts=…;h1=…[;h1=…]` over `ts:body`, several `h1` while a secret rotates. Paddle's libraries allow five seconds, and each attempt is signed
 * anew. `event_id` is the event's; `notification_id` differs by destination.
 */
export const paddle: Preset = {
  name: "paddle",
  title: "Paddle Billing",
  scheme: {
    type: "hmac",
    header: "paddle-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "h1=",
    signedContent: "{timestamp}:{body}",
    separator: ";",
    timestamp: { param: "ts", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the secret key of the notification destination, pdl_ntfset_… included" },
  toleranceMs: 5_000,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "60 times within 3 days, in the sandbox three times within 15 minutes",
    note: "the gateway's clock must be right to a few seconds; a larger spec.verification.tolerance is allowed",
  },
  sample: {
    body: '{"event_id":"$id","event_type":"transaction.completed","occurred_at":"$nowIso","notification_id":"ntf_1","data":{"id":"txn_1","status":"completed"}}',
  },
  documentation: "https://developer.paddle.com/webhooks/signature-verification",
};
