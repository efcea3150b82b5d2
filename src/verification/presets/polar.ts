import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** Polar. Its own library encodes the whole secret in base64 before the specification's library decodes it: the key is the secret's text. */
export const polar = standardWebhooksSender({
  name: "polar",
  title: "Polar",
  secret: "raw",
  secrets: { signing: "shared", description: "the webhook's secret exactly as shown, prefix included, not encoded" },
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  eventTypeFrom: "json:/type",
  behaviour: {
    retries: "up to ten times, less and less often, each signed anew under the same id",
    danger: "ten failed deliveries in a row disable the endpoint",
    note: "events of an endpoint come in order: one that fails holds up the next",
  },
  sample: { body: '{"type":"order.paid","timestamp":"$nowIso","data":{"id":"o1","amount":4200,"currency":"eur"}}' },
  documentation: "https://polar.sh/docs/integrate/webhooks/delivery",
});
