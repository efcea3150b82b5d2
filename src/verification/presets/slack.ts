import { slackUrlVerification } from "../handshakes/slack.ts";
import type { Preset } from "./preset.ts";

/**
 * Slack, Events API, interactivity and slash commands: HMAC-SHA256 over `v0:timestamp:body`. Slack's document compares the absolute difference with five
 * minutes. A retry has a fresh signature and the same `event_id`; forms have no id. Slack shows people what a slash command is answered, hence no body.
 */
export const slack: Preset = {
  name: "slack",
  title: "Slack",
  scheme: {
    type: "hmac",
    header: "x-slack-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v0=",
    signedContent: "v0:{timestamp}:{body}",
    timestamp: { header: "x-slack-request-timestamp", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the app's signing secret, under Basic Information" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 3_000,
  ack: { status: 200, contentType: "text/plain", body: "" },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event/type" },
  statusOverrides: {},
  handshakes: [slackUrlVerification],
  showHeaders: ["x-slack-request-timestamp", "x-slack-retry-num", "x-slack-retry-reason"],
  parameters: [],
  behaviour: {
    retries:
      "at once, after 1 minute and after 5 minutes, each signed anew under the same event_id; with delayed events hourly for 24 hours",
    danger: "an app that answers less than 5 % of events within an hour is switched off",
    note: "interactivity and slash commands have no id and are not repeated",
  },
  sample: {
    body: '{"type":"event_callback","team_id":"T1DC2JH3J","api_app_id":"A1","event_id":"$id","event_time":$now,"event":{"type":"app_mention","text":"hello","channel":"C1"}}',
  },
  documentation: "https://docs.slack.dev/authentication/verifying-requests-from-slack",
};
