import type { Preset } from "./preset.ts";

/**
 * Shopify: base64 HMAC-SHA256 over the body, under the name of the webhooks and of the newer Events. `X-Shopify-Event-Id` names the event: several
 * subscriptions send it under several `X-Shopify-Webhook-Id`. One action may cause events of several topics under one id, so the topic belongs to it.
 */
export const shopify: Preset = {
  name: "shopify",
  title: "Shopify",
  scheme: {
    type: "hmac",
    header: "x-shopify-hmac-sha256",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    otherHeaders: ["shopify-hmac-sha256"],
    idHeader: "x-shopify-event-id",
  },
  secrets: {
    signing: "shared",
    description: "the app's client secret; for webhooks made under Settings, Notifications the secret shown there",
  },
  toleranceMs: 0,
  dedupe: [
    { from: "header", name: "x-shopify-event-id", signed: false },
    { from: "header", name: "x-shopify-topic", signed: false, optional: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-shopify-topic" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-shopify-topic",
    "x-shopify-shop-domain",
    "x-shopify-api-version",
    "x-shopify-event-id",
    "x-shopify-webhook-id",
    "x-shopify-triggered-at",
  ],
  parameters: [],
  behaviour: {
    retries: "8 times within 4 hours, with the same body and signature",
    danger: "a subscription made through the API is deleted after 8 failures in a row; redirects are failures",
    note: "1 s to connect, 5 s in all; a rotated client secret takes up to an hour; X-Shopify-Triggered-At is not signed",
  },
  sample: {
    body: '{"id":820982911946154508,"name":"#1001","total_price":"42.00","currency":"EUR"}',
    headers: {
      "x-shopify-topic": "orders/create",
      "x-shopify-shop-domain": "acme.myshopify.com",
      "x-shopify-api-version": "2026-01",
    },
  },
  documentation: "https://shopify.dev/docs/apps/build/webhooks/subscribe/https",
};
