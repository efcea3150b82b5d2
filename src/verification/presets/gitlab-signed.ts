import { standardWebhooksSender } from "./standard-webhooks-sender.ts";

/** GitLab with a signing token (from 19.0, where it is switched on). `webhook-id` is the `Idempotency-Key`: the same over retries, and signed. */
export const gitlabSigned = standardWebhooksSender({
  name: "gitlab-signed",
  title: "GitLab (signing token)",
  secrets: { signing: "shared", description: "the signing token of the webhook, whsec_… included" },
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  eventTypeFrom: "header:x-gitlab-event",
  showHeaders: [
    "x-gitlab-event",
    "x-gitlab-event-uuid",
    "x-gitlab-webhook-uuid",
    "x-gitlab-instance",
    "idempotency-key",
  ],
  behaviour: {
    retries: "failed requests are repeated under the same id",
    danger:
      "4 failures in a row switch the webhook off for a minute, then twice as long up to 24 hours; 40 switch it off for good",
  },
  sample: {
    body: '{"object_kind":"push","ref":"refs/heads/main","project":{"path_with_namespace":"acme/shop"}}',
    headers: { "x-gitlab-event": "Push Hook" },
  },
  documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
});
