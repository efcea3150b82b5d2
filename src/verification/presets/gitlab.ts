import type { Preset } from "./preset.ts";

/**
 * GitLab with a secret token: the token is sent as it is and nothing is signed. `Idempotency-Key` stays the same over retries.
 */
export const gitlab: Preset = {
  name: "gitlab",
  title: "GitLab (secret token)",
  scheme: { type: "token", header: "x-gitlab-token", prefix: "" },
  secrets: { signing: "shared", description: "the secret token of the webhook, as typed in its settings" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "idempotency-key", signed: false }],
  withoutId: "None",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-gitlab-event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-gitlab-event",
    "x-gitlab-event-uuid",
    "x-gitlab-webhook-uuid",
    "x-gitlab-instance",
    "idempotency-key",
  ],
  parameters: [],
  behaviour: {
    retries: "failed requests are repeated under the same Idempotency-Key",
    danger:
      "4 failures in a row switch the webhook off for a minute, then twice as long up to 24 hours; 40 switch it off for good",
    note: "the body is not authenticated: prefer gitlab-signed where GitLab offers a signing token",
  },
  sample: {
    body: '{"object_kind":"push","ref":"refs/heads/main","project":{"path_with_namespace":"acme/shop"}}',
    headers: { "x-gitlab-event": "Push Hook", "idempotency-key": "$id" },
  },
  documentation: "https://docs.gitlab.com/user/project/integrations/webhooks/",
};
