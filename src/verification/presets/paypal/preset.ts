import type { Preset } from "../preset.ts";
import { paypalScheme } from "./scheme.ts";

/**
 * PayPal: RSA-SHA256 over transmission id, time, webhook id and the body's CRC-32, under a certificate on a host of PayPal. A webhook's id is no secret,
 * but binds the signature to this route. A transmission is taken for 4 days, longer than PayPal repeats it, and remembered as long.
 */
export const paypal: Preset = {
  name: "paypal",
  title: "PayPal",
  scheme: {
    type: "custom",
    description: "paypal-transmission-sig over id|time|webhookId|CRC-32 of the body; RSA",
    covers: { body: false },
    signsTime: true,
    create: paypalScheme,
  },
  secrets: {
    signing: "none",
    description: "nothing: PayPal signs with a certificate, and the webhook's id is a parameter",
  },
  toleranceMs: 4 * 86_400_000,
  dedupe: [{ from: "json", pointer: "/id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 5 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/event_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["paypal-transmission-id", "paypal-transmission-time"],
  parameters: [
    {
      name: "webhookId",
      required: true,
      description: "id of the webhook (Apps & Credentials, the app, Webhooks)",
      pattern: /^[A-Za-z0-9]{1,64}$/,
    },
  ],
  behaviour: {
    retries: "up to 25 times over 3 days",
    note: "the body is signed by its CRC-32 only: a transmission that was seen is refused with any other body; events of PayPal's simulator do not verify",
  },
  sample: {
    body: '{"id":"$id","event_version":"1.0","create_time":"$nowIso","resource_type":"sale","event_type":"PAYMENT.SALE.COMPLETED","summary":"sample","resource":{}}',
  },
  documentation: "https://developer.paypal.com/api/rest/webhooks/rest/",
};
