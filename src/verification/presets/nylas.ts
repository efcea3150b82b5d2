import { queryChallenge } from "../handshakes/query-challenge.ts";
import type { Preset } from "./preset.ts";

/** Nylas v3: HMAC-SHA256 over the body as it was sent. Bodies are CloudEvents, whose `id` stays the same over attempts. */
export const nylas: Preset = {
  name: "nylas",
  title: "Nylas",
  scheme: {
    type: "hmac",
    header: "x-nylas-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the webhook_secret of the destination, shown when it is made or rotated",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3_600_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [queryChallenge],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries:
      "twice on 408, 429 and 502 to 507, the last one 10 to 20 minutes after the first; webhook_delivery_attempt in the body grows",
    danger: "95 % without 200 over 15 minutes mark the webhook as failing, 72 hours of that stop it",
    note: "the challenge must come back alone, with a Content-Length, within 10 s",
  },
  sample: {
    body: '{"specversion":"1.0","type":"message.created","source":"/google/emails/realtime","id":"$id","time":$now,"webhook_delivery_attempt":1,"data":{"application_id":"a1","object":{"grant_id":"g1","object":"message"}}}',
  },
  documentation: "https://developer.nylas.com/docs/v3/notifications/webhooks/",
};
