import type { Preset } from "./preset.ts";

/** Buildkite: `timestamp=…,signature=…` over `timestamp.body`, when the webhook is set up to send a signature and not the token itself. */
export const buildkite: Preset = {
  name: "buildkite",
  title: "Buildkite",
  scheme: {
    type: "hmac",
    header: "x-buildkite-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "signature=",
    separator: ",",
    signedContent: "{timestamp}.{body}",
    timestamp: { param: "timestamp", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the webhook's token (Settings, Notification Services)" },
  toleranceMs: 300_000,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-buildkite-event"],
  parameters: [],
  behaviour: {
    retries: "not documented",
    note: "choose to send an HMAC signature: X-Buildkite-Token is the token itself, for which spec.verification.token is there",
  },
  sample: {
    body: '{"event":"build.finished","build":{"id":"$id","number":1,"state":"passed"},"pipeline":{"slug":"shop"},"sender":{"id":"u1"}}',
    headers: { "x-buildkite-event": "build.finished" },
  },
  documentation: "https://buildkite.com/docs/apis/webhooks/pipelines",
};
