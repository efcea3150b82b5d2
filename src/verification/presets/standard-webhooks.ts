import type { Preset } from "./preset.ts";

/**
 * Standard Webhooks (Svix, Clerk, Resend, OpenAI, Supabase, Polar and others). The id is signed and stays the same over retries; the longest
 * schedule of the specification takes 75.6 hours.
 */
export const standardWebhooks: Preset = {
  name: "standard-webhooks",
  title: "Standard Webhooks",
  scheme: { type: "standard-webhooks" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "webhook-id", signed: true }],
  retryWindowMs: 76 * 3_600_000,
  ackBudgetMs: 15_000,
  responseStatus: 202,
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  showHeaders: ["webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp"],
  parameters: [],
  documentation: "https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md",
};
