import type { Preset } from "./preset.ts";

/** ClickUp: HMAC-SHA256 over the body in hex. The id is that of the one history item in an event. */
export const clickup: Preset = {
  name: "clickup",
  title: "ClickUp",
  scheme: {
    type: "hmac",
    header: "x-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "webhook.secret from the answer that made the webhook" },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/event", signed: true },
    { from: "json", pointer: "/history_items/0/id", signed: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 7_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "up to five times",
    danger: "a webhook whose fail_count reaches 100 is suspended",
  },
  sample: {
    body: '{"event":"taskUpdated","history_items":[{"id":"$id","type":1,"date":"$nowMs","field":"status"}],"task_id":"1vj37mc","webhook_id":"7fa3ec74-69a8-4530-a251-8a13730bd204"}',
  },
  documentation: "https://developer.clickup.com/docs/webhooksignature",
};
