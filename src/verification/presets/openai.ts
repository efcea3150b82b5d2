import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** OpenAI, events of background responses, batches, fine-tuning and calls. */
export const openai = standardWebhooksSender({
  name: "openai",
  title: "OpenAI",
  secrets: {
    signing: "shared",
    description: "the webhook's signing secret, whsec_… included; shown once when it is made",
  },
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  eventTypeFrom: "json:/type",
  behaviour: {
    retries: "for up to 72 hours, less and less often, under the same id",
    note: "redirects are failures",
  },
  sample: {
    body: '{"object":"event","id":"evt_1","type":"response.completed","created_at":$now,"data":{"id":"resp_1"}}',
  },
  documentation: "https://platform.openai.com/docs/guides/webhooks",
});
