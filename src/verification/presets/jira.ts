import type { Preset } from "./preset.ts";

/**
 * Jira Cloud, webhooks of an administrator with a secret: HMAC-SHA256 over the body in `X-Hub-Signature` (the form of WebSub). The identifier is unique
 * within a site and stays the same over retries. Webhooks of Connect and OAuth apps are not signed this way.
 */
export const jira: Preset = {
  name: "jira",
  title: "Jira Cloud",
  scheme: {
    type: "hmac",
    header: "x-hub-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{body}",
    idHeader: "x-atlassian-webhook-identifier",
  },
  secrets: { signing: "shared", description: "the secret of the webhook, as typed under System, WebHooks" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-atlassian-webhook-identifier", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 20_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/webhookEvent" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-atlassian-webhook-identifier", "x-atlassian-webhook-retry", "x-atlassian-webhook-flow"],
  parameters: [],
  behaviour: {
    retries: "up to five times on timeouts and on 408, 409, 425, 429 and 5xx, 5 to 15 minutes apart",
    danger: "other 4xx are final: the event is not sent again",
    note: "only webhooks registered by an administrator are signed; those of Connect and OAuth apps are refused",
  },
  sample: {
    body: '{"timestamp":$nowMs,"webhookEvent":"jira:issue_updated","issue":{"id":"10002","key":"OPS-1","fields":{"summary":"Disk is full"}}}',
  },
  documentation: "https://developer.atlassian.com/cloud/jira/platform/webhooks/",
};
