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
  secrets: {
    signing: "shared",
    description: "the secret of the webhook, as typed in the repository's or the app's settings",
  },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-github-delivery", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-github-event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-github-delivery", "x-github-event", "x-github-hook-id", "x-github-hook-installation-target-type"],
  parameters: [],
  behaviour: {
    retries: "none by itself; a redelivery by hand or API is possible for 3 days and keeps id and signature",
  },
  sample: {
    body: '{"ref":"refs/heads/main","repository":{"full_name":"octo-org/octo-repo"}}',
    headers: { "x-github-event": "push" },
  },
  documentation: "https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries",
};
