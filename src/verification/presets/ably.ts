import type { Preset } from "./preset.ts";

/**
 * Ably webhooks, signed: base64 HMAC-SHA256 over the body, keyed with the secret part of an API key that `X-Ably-Key` names. A message in an envelope has its
 * id in the body, one without in a header; a batch has none.
 */
export const ably: Preset = {
  name: "ably",
  title: "Ably",
  scheme: {
    type: "hmac",
    header: "x-ably-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    keyIdHeader: "x-ably-key",
  },
  secrets: {
    signing: "shared",
    description: "the secret part of the API key that signs: what stands behind the colon",
  },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/messages/0/id", signed: true, optional: true },
    { from: "header", name: "x-ably-message-id", signed: false, optional: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 10 * 60_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/source" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-ably-key",
    "x-ably-version",
    "x-ably-envelope-channel",
    "x-ably-envelope-source",
    "x-ably-message-id",
  ],
  parameters: [],
  behaviour: {
    retries: "batches with growing distances up to 60 s; events are kept for 5 minutes",
    note: "X-Ably-Key names the key: set it as keyId in secretRefs when several keys sign",
  },
  sample: {
    body: '{"source":"channel.message","appId":"a1","channel":"orders","site":"eu-central-1-A","ruleId":"r1","messages":[{"id":"$id","name":"created","data":"4711","timestamp":$nowMs}]}',
  },
  documentation: "https://ably.com/docs/platform/integrations/webhooks",
};
