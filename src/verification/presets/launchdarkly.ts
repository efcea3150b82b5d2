import type { Preset } from "./preset.ts";

/** LaunchDarkly: HMAC-SHA256 over the body in hex. The body is an entry of the audit log, whose `_id` it bears. */
export const launchdarkly: Preset = {
  name: "launchdarkly",
  title: "LaunchDarkly",
  scheme: {
    type: "hmac",
    header: "x-ld-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the webhook's secret (Integrations, Webhooks, Sign this webhook)" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/_id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/kind" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "once",
    note: "delivery is not guaranteed and events come out of order: go by date in the body",
  },
  sample: {
    body: '{"_id":"$id","date":$nowMs,"kind":"flag","name":"new-checkout","accesses":[{"action":"updateOn","resource":"proj/default:env/production:flag/new-checkout"}]}',
  },
  documentation: "https://launchdarkly.com/docs/home/infrastructure/webhooks",
};
