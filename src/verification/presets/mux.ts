import type { Preset } from "./preset.ts";

/** Mux: `t=…,v1=…` over `t.body`, good for 5 minutes in Mux's libraries. */
export const mux: Preset = {
  name: "mux",
  title: "Mux",
  scheme: {
    type: "hmac",
    header: "mux-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v1=",
    separator: ",",
    signedContent: "{timestamp}.{body}",
    timestamp: { param: "t", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the signing secret of this webhook (Settings, Webhooks)" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: { retries: "for 24 hours; attempts stand in the body" },
  sample: {
    body: '{"type":"video.asset.ready","id":"$id","created_at":"$nowIso","object":{"type":"asset","id":"a1"},"environment":{"name":"Production","id":"e1"},"data":{"id":"a1","status":"ready"}}',
  },
  documentation: "https://www.mux.com/docs/core/verify-webhook-signatures",
};
