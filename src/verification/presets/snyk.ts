import type { Preset } from "./preset.ts";

/** Snyk: `X-Hub-Signature: sha256=…` over the body. The id of the transport is not signed. */
export const snyk: Preset = {
  name: "snyk",
  title: "Snyk",
  scheme: {
    type: "hmac",
    header: "x-hub-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the secret given when the webhook was made through Snyk's API" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-snyk-transport-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-snyk-event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-snyk-event", "x-snyk-transport-id", "x-snyk-timestamp"],
  parameters: [],
  behaviour: {
    retries: "not documented",
    note: "a ping comes when the webhook is made; the transport's id is not signed: it counts together with the body",
  },
  sample: {
    body: '{"project":{"id":"p1","name":"acme/shop"},"org":{"id":"o1"},"newIssues":[],"removedIssues":[]}',
    headers: { "x-snyk-event": "project_snapshot/v0", "x-snyk-transport-id": "$id" },
  },
  documentation: "https://docs.snyk.io/snyk-api/how-to-use-snyk-webhooks-apis/validation-and-versioning-of-payloads",
};
