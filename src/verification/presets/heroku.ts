import type { Preset } from "./preset.ts";

/**
 * Heroku app webhooks: base64 HMAC-SHA256 over the body. At level `sync` deliveries are repeated, at level `notify` they are not.
 */
export const heroku: Preset = {
  name: "heroku",
  title: "Heroku",
  scheme: {
    type: "hmac",
    header: "heroku-webhook-hmac-sha256",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the secret of the webhook subscription, as given or shown when it was made",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/webhook_metadata/event/include" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "at level sync several times until an attempt succeeds or a limit is reached; at level notify none",
  },
  sample: {
    body: '{"id":"$id","action":"update","resource":"release","created_at":"$nowIso","data":{"status":"succeeded"},"webhook_metadata":{"attempt":{"id":"a1"},"delivery":{"id":"d1"},"event":{"id":"$id","include":"api:release"},"webhook":{"id":"w1"}}}',
  },
  documentation: "https://devcenter.heroku.com/articles/app-webhooks",
};
