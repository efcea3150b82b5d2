import type { Preset } from "./preset.ts";

/**
 * Vercel: HMAC-SHA1 over the body. `id` is the delivery's.
 */
export const vercel: Preset = {
  name: "vercel",
  title: "Vercel",
  scheme: {
    type: "hmac",
    header: "x-vercel-signature",
    algorithm: "sha1",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the secret shown when the webhook is made; for an integration its client secret",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 30_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-vercel-id"],
  parameters: [],
  behaviour: { retries: "for up to 24 hours, less and less often" },
  sample: {
    body: '{"id":"$id","type":"deployment.succeeded","createdAt":$nowMs,"region":"fra1","payload":{"deployment":{"id":"dpl_1","name":"shop"}}}',
  },
  documentation: "https://vercel.com/docs/webhooks/webhooks-api",
};
