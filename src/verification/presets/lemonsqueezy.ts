import type { Preset } from "./preset.ts";

/**
 * Lemon Squeezy: HMAC-SHA256 over the body. There is no id of an event. Anything but 200 is repeated.
 */
export const lemonsqueezy: Preset = {
  name: "lemonsqueezy",
  title: "Lemon Squeezy",
  scheme: {
    type: "hmac",
    header: "x-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the signing secret, as typed when the webhook was made" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-event-name" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-event-name"],
  parameters: [],
  behaviour: { retries: "up to three times, for example after 5, 25 and 125 seconds; can be sent again by hand" },
  sample: {
    body: '{"meta":{"event_name":"order_created","test_mode":true},"data":{"type":"orders","id":"$id","attributes":{"status":"paid","total":4200}}}',
    headers: { "x-event-name": "order_created" },
  },
  documentation: "https://docs.lemonsqueezy.com/help/webhooks/signing-requests",
};
