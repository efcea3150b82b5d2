import type { Preset } from "./preset.ts";

/**
 * Bitbucket Cloud: HMAC-SHA256 over the body in `X-Hub-Signature`, which carries no `-256` although it is SHA-256. Bitbucket waits 10 s and repeats
 * what was answered 500 … 599 up to two times.
 */
export const bitbucket: Preset = {
  name: "bitbucket",
  title: "Bitbucket Cloud",
  scheme: {
    type: "hmac",
    header: "x-hub-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{body}",
    idHeader: "x-request-uuid",
  },
  secrets: {
    signing: "shared",
    description: "the secret of the webhook, as typed in the repository's or workspace's webhook settings",
  },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-request-uuid", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-event-key" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-event-key", "x-hook-uuid", "x-request-uuid", "x-attempt-number"],
  parameters: [],
  behaviour: {
    retries: "up to two times after an answer of 500 to 599; a request can be sent again by hand",
    danger: "after 4xx or 3xx nothing is sent again",
    note: "a webhook without a secret is not signed; payloads above 256 KB are not sent at all",
  },
  sample: {
    body: '{"repository":{"full_name":"acme/shop"},"push":{"changes":[{"new":{"type":"branch","name":"main"}}]}}',
    headers: { "x-event-key": "repo:push", "x-attempt-number": "1" },
  },
  documentation: "https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/",
};
