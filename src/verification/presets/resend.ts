import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** Resend sends through Svix. */
export const resend = standardWebhooksSender({
  name: "resend",
  title: "Resend",
  secrets: { signing: "shared", description: "the webhook's signing secret, whsec_… included" },
  retryWindowMs: 28 * 3_600_000,
  ackBudgetMs: 15_000,
  ack: { status: 200 },
  eventTypeFrom: "json:/type",
  behaviour: {
    retries: "after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h, each signed anew under the same id; by hand at any time",
    danger: "days of failures disable the webhook",
  },
  sample: {
    body: '{"type":"email.delivered","created_at":"$nowIso","data":{"email_id":"56761188","subject":"Receipt"}}',
  },
  documentation: "https://resend.com/docs/webhooks/verify-webhooks-requests",
});
