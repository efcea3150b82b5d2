import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** Clerk sends through Svix. */
export const clerk = standardWebhooksSender({
  name: "clerk",
  title: "Clerk",
  secrets: { signing: "shared", description: "the endpoint's signing secret, whsec_… included" },
  retryWindowMs: 28 * 3_600_000,
  ackBudgetMs: 15_000,
  eventTypeFrom: "json:/type",
  behaviour: {
    retries: "as Svix: eight attempts within 27.5 hours, each signed anew under the same id",
    danger: "five days of failures disable the endpoint",
  },
  sample: {
    body: '{"type":"user.created","object":"event","timestamp":$nowMs,"data":{"id":"user_1","object":"user"}}',
  },
  documentation: "https://clerk.com/docs/guides/development/webhooks/overview",
});
