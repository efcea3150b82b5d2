import { wooCommercePing } from "../handshakes/woocommerce.ts";
import type { Preset } from "./preset.ts";

/**
 * WooCommerce: base64 HMAC-SHA256 over the body. There are no retries, and more than five failures in a row disable the webhook without a word.
 */
export const woocommerce: Preset = {
  name: "woocommerce",
  title: "WooCommerce",
  scheme: {
    type: "hmac",
    header: "x-wc-webhook-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    idHeader: "x-wc-webhook-delivery-id",
  },
  secrets: { signing: "shared", description: "the secret of the webhook, under Settings, Advanced, Webhooks" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-wc-webhook-delivery-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-wc-webhook-topic" },
  statusOverrides: {},
  handshakes: [wooCommercePing],
  showHeaders: [
    "x-wc-webhook-topic",
    "x-wc-webhook-resource",
    "x-wc-webhook-event",
    "x-wc-webhook-id",
    "x-wc-webhook-delivery-id",
    "x-wc-webhook-source",
  ],
  parameters: [],
  behaviour: {
    retries: "none",
    danger: "more than five failures in a row disable the webhook",
    note: "saving a webhook sends a ping that is no event",
  },
  sample: {
    body: '{"id":727,"status":"processing","currency":"EUR","total":"42.00"}',
    headers: { "x-wc-webhook-topic": "order.created" },
  },
  documentation: "https://woocommerce.com/document/webhooks/",
};
