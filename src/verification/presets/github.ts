import type { Preset } from "./preset.ts";

/**
 * GitHub: HMAC-SHA256 over the body, lower-case hex as GitHub's own library compares it. No timestamp. `X-GitHub-Delivery` is not signed;
 * it stays the same over a manual redelivery, which is possible for 3 days. There are no automatic retries; the answer is due in 10 s.
 */
export const github: Preset = {
  name: "github",
  title: "GitHub",
  scheme: {
    type: "hmac",
    header: "x-hub-signature-256",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sha256=",
    signedContent: "{body}",
    idHeader: "x-github-delivery",
  },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-github-delivery", signed: false }],
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  responseStatus: 202,
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-github-event" },
  statusOverrides: {},
  showHeaders: ["x-github-delivery", "x-github-event", "x-github-hook-id", "x-github-hook-installation-target-type"],
  parameters: [],
  documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
};
