import type { DedupeSource, Preset } from "../preset.ts";
import { adyenScheme } from "./scheme.ts";

const ITEM = "/notificationItems/0/NotificationRequestItem";

/** What tells a payment's events apart. */
const ID_FIELDS = ["pspReference", "eventCode", "success"].map((field) => `${ITEM}/${field}`);

/**
 * Adyen, standard webhooks: each item of the body bears an HMAC-SHA256 over eight of its fields, under a key that is written in hex. Adyen wants
 * `[accepted]` in the answer, and repeats for 7 days without. A payment's events differ in `eventCode` and `success`.
 */
export const adyen: Preset = {
  name: "adyen",
  title: "Adyen",
  scheme: {
    type: "custom",
    description: "additionalData.hmacSignature of every item, over eight of its fields",
    covers: { body: false, fields: ID_FIELDS },
    signsTime: false,
    create: adyenScheme,
  },
  secrets: {
    signing: "shared",
    description: "the webhook's HMAC key in hex (Customer Area, Developers, Webhooks, Security)",
  },
  toleranceMs: 0,
  dedupe: ID_FIELDS.map((pointer): DedupeSource => ({ from: "json", pointer, signed: true })),
  // Only the items are signed: what else stands beside them makes no other notification.
  bodyExcept: [""],
  withoutId: "Signature",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200, contentType: "text/plain", body: "[accepted]" },
  payload: { format: "JSON", requiredFields: ["notificationItems"], eventTypeFrom: `json:${ITEM}/eventCode` },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "until it is accepted, for up to 7 days, with the same signature",
    danger:
      "an answer without [accepted], or after 10 seconds, counts as a failure, and what follows is queued behind it",
    note: "only pspReference, originalReference, merchantAccountCode, merchantReference, amount, eventCode and success are signed: fetch anything else from Adyen before you act on it",
  },
  sample: {
    body: '{"live":"false","notificationItems":[{"NotificationRequestItem":{"additionalData":{},"amount":{"value":1000,"currency":"EUR"},"pspReference":"$id","eventCode":"AUTHORISATION","eventDate":"$nowIso","merchantAccountCode":"SampleMerchant","merchantReference":"sample","paymentMethod":"visa","reason":"","success":"true"}}]}',
  },
  documentation: "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures",
};
