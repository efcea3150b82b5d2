import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** BigCommerce. The key is the text of the app's client secret. Bodies name a resource only; one event has one `hash`. */
export const bigcommerce = standardWebhooksSender({
  name: "bigcommerce",
  title: "BigCommerce",
  secret: "raw",
  secrets: {
    signing: "shared",
    description: "the client secret of the app or API account that made the webhook, as shown",
  },
  retryWindowMs: 2 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  eventTypeFrom: "json:/scope",
  behaviour: {
    retries: "for up to 48 hours, less and less often",
    danger:
      "less than 90 % success within two minutes blocks the whole domain for a while; 48 hours of failures deactivate the webhook",
  },
  sample: {
    body: '{"store_id":"11111","producer":"stores/abcde","scope":"store/order/statusUpdated","data":{"type":"order","id":173331},"hash":"3f9ea420af83450d7ef9f78b08c8af25b2213637","created_at":$now}',
  },
  documentation: "https://developer.bigcommerce.com/docs/integrations/webhooks",
});
