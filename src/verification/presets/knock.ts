import type { Preset } from "./preset.ts";

/** Knock: `t=…,s=…` over `t.body` as Stripe does, but with the time in milliseconds and the digest in base64. */
export const knock: Preset = {
  name: "knock",
  title: "Knock",
  scheme: {
    type: "hmac",
    header: "x-knock-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "s=",
    separator: ",",
    signedContent: "{timestamp}.{body}",
    timestamp: { param: "t", unit: "milliseconds" },
  },
  secrets: { signing: "shared", description: "the signing key of the webhook (Developers, Webhooks), not an API key" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-knock-event", "x-knock-environment-id"],
  parameters: [],
  behaviour: { retries: "up to eight attempts" },
  sample: {
    body: '{"__typename":"Event","id":"$id","type":"message.sent","created_at":"$nowIso","data":{"__typename":"Message","id":"m1","status":"sent"},"event_data":null}',
    headers: { "x-knock-event": "message.sent" },
  },
  documentation: "https://docs.knock.app/developer-tools/outbound-webhooks/overview",
};
