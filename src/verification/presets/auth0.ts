import type { Preset } from "./preset.ts";

/**
 * Auth0 log streams to a custom webhook: a token of one's own in `Authorization`, nothing is signed. Logs come as a list, as JSON lines or one by one; a log
 * has its `log_id`.
 */
export const auth0: Preset = {
  name: "auth0",
  title: "Auth0 log stream",
  scheme: { type: "token", header: "authorization", prefix: "" },
  secrets: {
    signing: "shared",
    description: "the authorization token of the stream, as typed (with Bearer, if it was typed so)",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/0/log_id", signed: false }],
  withoutId: "Body",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/0/data/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "three attempts at a time, begun anew until they succeed",
    danger: "after 7 days without success the stream is paused",
    note: "the body is not authenticated; requests hold several logs: dedupe them by log_id in the destination",
  },
  sample: { body: '[{"log_id":"$id","data":{"type":"s","date":"$nowIso","client_name":"shop","connection":"users"}}]' },
  documentation: "https://auth0.com/docs/customize/log-streams/custom-log-streams",
};
