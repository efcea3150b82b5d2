import type { Preset } from "./preset.ts";

/** Gitea and Forgejo: HMAC-SHA256 over the body in hex. The delivery's id is not signed. */
export const gitea: Preset = {
  name: "gitea",
  title: "Gitea, Forgejo",
  scheme: {
    type: "hmac",
    header: "x-gitea-signature",
    otherHeaders: ["x-forgejo-signature"],
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the secret typed in at the webhook (repository or organisation, Settings, Webhooks)",
  },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-gitea-delivery", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-gitea-event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-gitea-delivery", "x-gitea-event", "x-gitea-event-type", "x-forgejo-delivery", "x-forgejo-event"],
  parameters: [],
  behaviour: {
    retries: "none by itself; a delivery can be repeated by hand",
    note: "the delivery's id is not signed: it counts together with the body",
  },
  sample: {
    body: '{"ref":"refs/heads/main","before":"28e1879d029cb852e4844d9c718537df08844e03","after":"bffeb74224043ba2feb48d137756c8a9331c449a","repository":{"full_name":"acme/shop"}}',
    headers: { "x-gitea-delivery": "$id", "x-gitea-event": "push" },
  },
  documentation: "https://docs.gitea.com/usage/webhooks",
};
