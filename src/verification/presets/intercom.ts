import { headPresence } from "../handshakes/presence.ts";
import type { Preset } from "./preset.ts";

/**
 * Intercom: HMAC-SHA1 over the body, keyed with the app's client secret. The notification's id stays the same over retries.
 */
export const intercom: Preset = {
  name: "intercom",
  title: "Intercom",
  scheme: {
    type: "hmac",
    header: "x-hub-signature",
    algorithm: "sha1",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha1=",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the app's client secret, under Basic information in the Developer Hub" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/topic" },
  statusOverrides: {},
  handshakes: [headPresence],
  showHeaders: ["x-request-id"],
  parameters: [],
  behaviour: {
    retries: "once, after a minute; 429 slows the topic down",
    danger:
      "410 ends the subscription; 1000 errors in a row within 15 minutes pause it, seven days of errors suspend a private app's",
    note: "answers above 500 ms get a lower priority",
  },
  sample: {
    body: '{"type":"notification_event","id":"$id","topic":"conversation.user.created","app_id":"a1","created_at":$now,"delivery_attempts":1,"data":{"type":"notification_event_data","item":{"type":"conversation","id":"1"}}}',
  },
  documentation: "https://developers.intercom.com/docs/webhooks/webhook-notifications",
};
