import { headPresence } from "../handshakes/presence.ts";
import type { Preset } from "./preset.ts";

/**
 * Trello: base64 HMAC-SHA1 over body and callback URL, keyed with the app's secret. The URL is the one given when the webhook was made, byte for byte.
 */
export const trello: Preset = {
  name: "trello",
  title: "Trello",
  scheme: {
    type: "hmac",
    header: "x-trello-webhook",
    algorithm: "sha1",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}{url}",
  },
  secrets: { signing: "shared", description: "the secret of the API key (the app's secret), not its token" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/action/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/action/type" },
  statusOverrides: {},
  handshakes: [headPresence],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "after 30, 60 and 120 seconds",
    danger: "410 deletes the webhook; 30 days of failures disable it",
    note: "publicUrl must be the callbackURL exactly. Making the webhook sends a HEAD that must be answered 200",
  },
  sample: {
    body: '{"action":{"id":"$id","type":"updateCard","date":"$nowIso","data":{"card":{"id":"c1","name":"Disk is full"}}},"model":{"id":"b1"}}',
  },
  documentation: "https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/",
};
