import type { Preset } from "./preset.ts";

/**
 * A queue that pushes: `X-Delivery-Signature: sha256=<hex>` over `timestamp.body`, hex in either case. The delivery id must be there and is
 * not signed. 204 once the message is stored or already known. The fields a message must have come from the route.
 */
export const queuePush: Preset = {
  name: "queue-push",
  title: "Queue push",
  scheme: {
    type: "hmac",
    header: "x-delivery-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "any",
    prefix: "sha256=",
    signedContent: "{timestamp}.{body}",
    timestamp: { header: "x-delivery-timestamp", unit: "seconds" },
    keyIdHeader: "x-delivery-key-id",
    idHeader: "x-delivery-id",
    requiredHeaders: ["x-delivery-id"],
  },
  secrets: { signing: "shared", description: "the key that the queue signs with, as text" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-delivery-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 204 },
  payload: { format: "JSON", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-delivery-id", "x-delivery-timestamp", "x-delivery-key-id"],
  parameters: [],
  behaviour: {
    retries: "decided by the queue, at most 7 days",
    note: "the delivery id is not signed: it counts together with the body",
  },
  sample: {
    body: '{"type":"sample.sent","message":"hello"}',
  },
  documentation: "https://www.rfc-editor.org/rfc/rfc2104",
};
