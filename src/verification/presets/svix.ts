import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** Svix, and whoever sends through it: the headers are called `svix-…` or `webhook-…`. Eight attempts within 27.5 hours. */
export const svix = standardWebhooksSender({
  name: "svix",
  title: "Svix",
  secrets: {
    signing: "shared",
    description: "the endpoint's signing secret, whsec_… included; whpk_<base64> for ed25519",
  },
  retryWindowMs: 28 * 3_600_000,
  ackBudgetMs: 15_000,
  eventTypeFrom: "json:/type",
  behaviour: {
    retries: "after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, each signed anew under the same id",
    danger: "five days of failures disable the endpoint; redirects are failures",
  },
  sample: { body: '{"type":"invoice.paid","timestamp":"$nowIso","data":{"invoice":"4711"}}' },
  documentation: "https://docs.svix.com/receiving/verifying-payloads/how",
});
