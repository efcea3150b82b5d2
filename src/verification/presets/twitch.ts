import { twitchRevocation, twitchVerification } from "../handshakes/twitch.ts";
import type { Preset } from "./preset.ts";

/**
 * Twitch EventSub: HMAC-SHA256 over message id, timestamp and body, the timestamp in RFC 3339 with nanoseconds. Twitch's document advises ten minutes. A
 * repeated message keeps its id.
 */
export const twitch: Preset = {
  name: "twitch",
  title: "Twitch EventSub",
  scheme: {
    type: "hmac",
    header: "twitch-eventsub-message-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{id}{timestamp}{body}",
    timestamp: { header: "twitch-eventsub-message-timestamp", unit: "rfc3339" },
    idHeader: "twitch-eventsub-message-id",
  },
  secrets: { signing: "shared", description: "the secret given when the subscription was made (10 to 100 characters)" },
  toleranceMs: 600_000,
  dedupe: [{ from: "header", name: "twitch-eventsub-message-id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 2_000,
  ack: { status: 204 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "header:twitch-eventsub-subscription-type" },
  statusOverrides: {},
  handshakes: [twitchVerification, twitchRevocation],
  showHeaders: [
    "twitch-eventsub-message-id",
    "twitch-eventsub-message-type",
    "twitch-eventsub-message-retry",
    "twitch-eventsub-message-timestamp",
    "twitch-eventsub-subscription-type",
    "twitch-eventsub-subscription-version",
  ],
  parameters: [],
  behaviour: {
    retries: "repeated when Twitch is unsure of an answer, under the same message id",
    danger: "too many answers that are late or not 2xx revoke the subscription",
    note: "a revocation comes as a message of type revocation",
  },
  sample: {
    body: '{"subscription":{"id":"f1c2a387","type":"channel.follow","version":"2","status":"enabled"},"event":{"user_id":"1234","followed_at":"$nowIso"}}',
    headers: {
      "twitch-eventsub-message-type": "notification",
      "twitch-eventsub-subscription-type": "channel.follow",
      "twitch-eventsub-subscription-version": "2",
    },
  },
  documentation: "https://dev.twitch.tv/docs/eventsub/handling-webhook-events/",
};
