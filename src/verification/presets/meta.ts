import { metaHubChallenge } from "../handshakes/meta.ts";
import type { Preset } from "./preset.ts";

/**
 * Meta (Graph API, WhatsApp, Instagram, Messenger): HMAC-SHA256 over the body as sent, with its `\\uXXXX` escapes. Changes come in batches and have no id in
 * common.
 */
export const meta: Preset = {
  name: "meta",
  title: "Meta: WhatsApp, Instagram, Messenger, Pages",
  scheme: {
    type: "hmac",
    header: "x-hub-signature-256",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    others: ["VerifyToken"],
    description:
      "the app secret, under App settings, Basic; the verify token goes into a second Secret with use VerifyToken",
  },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/object" },
  statusOverrides: {},
  handshakes: [metaHubChallenge],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "with growing distances for 36 hours, WhatsApp for 7 days",
    danger: "a callback URL that keeps failing is switched off",
    note: "up to 1000 changes in a request of up to 3 MB: raise limits.maxBodyBytes",
  },
  sample: {
    body: '{"object":"whatsapp_business_account","entry":[{"id":"102290129340398","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","messages":[{"id":"wamid.$id","type":"text","text":{"body":"hello"}}]}}]}]}',
  },
  documentation: "https://developers.facebook.com/docs/graph-api/webhooks/getting-started",
};
