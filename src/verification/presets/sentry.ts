import type { Preset } from "./preset.ts";

/**
 * Sentry, integration platform: HMAC-SHA256 over the body. `Sentry-Hook-Timestamp` is not signed. Sentry waits one second only.
 */
export const sentry: Preset = {
  name: "sentry",
  title: "Sentry",
  scheme: {
    type: "hmac",
    header: "sentry-hook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
    idHeader: "request-id",
  },
  secrets: { signing: "shared", description: "the client secret of the integration" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "request-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 1_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:sentry-hook-resource" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["request-id", "sentry-hook-resource", "sentry-hook-timestamp"],
  parameters: [],
  behaviour: {
    retries: "none are documented",
    danger: "1000 timeouts within 24 hours end the subscription of an integration that is not a partner's",
  },
  sample: {
    body: '{"action":"created","installation":{"uuid":"7a485448-a9e2-4c85-8a3c-4f44175783c9"},"data":{"issue":{"id":"1","title":"TypeError"}}}',
    headers: { "sentry-hook-resource": "issue" },
  },
  documentation: "https://docs.sentry.io/organization/integrations/integration-platform/webhooks/",
};
