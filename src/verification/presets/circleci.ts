import type { Preset } from "./preset.ts";

/**
 * CircleCI outbound webhooks: `v1=…[,v2=…]` over the body. Versions that are not known are passed over; without a `v1` the request is refused.
 */
export const circleci: Preset = {
  name: "circleci",
  title: "CircleCI",
  scheme: {
    type: "hmac",
    header: "circleci-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v1=",
    signedContent: "{body}",
    separator: ",",
  },
  secrets: { signing: "shared", description: "the secret token of the webhook, as typed in the project's settings" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["circleci-event-type"],
  parameters: [],
  behaviour: { retries: "after timeouts and anything but 2xx; how often is not documented" },
  sample: {
    body: '{"id":"$id","type":"workflow-completed","happened_at":"$nowIso","webhook":{"id":"w1","name":"hook"},"workflow":{"id":"f1","name":"build","status":"success"}}',
    headers: { "circleci-event-type": "workflow-completed" },
  },
  documentation: "https://circleci.com/docs/outbound-webhooks/",
};
