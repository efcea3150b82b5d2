import type { Preset } from "./preset.ts";

/**
 * Standard Webhooks (Svix, Clerk, Resend, OpenAI, Supabase, Polar and others). The id is signed and stays the same over retries; the longest
 * schedule of the specification takes 75.6 hours.
 */
export const standardWebhooks: Preset = {
  name: "standard-webhooks",
  title: "Standard Webhooks",
  scheme: { type: "standard-webhooks" },
  secrets: { signing: "shared", description: "whsec_<base64>, or whpk_<base64> for ed25519" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "webhook-id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 76 * 3_600_000,
  ackBudgetMs: 15_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp"],
  parameters: [],
  behaviour: {
    retries: "the specification's longest schedule takes 75.6 hours; each attempt is signed anew under the same id",
    danger: "410 disables the endpoint",
  },
  sample: {
    body: '{"type":"order.created","data":{"order":"4711"}}',
  },
  documentation: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
};
