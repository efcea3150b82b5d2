import type { Preset } from "./preset.ts";

/**
 * Hookdeck: base64 HMAC-SHA256 over the body, under two names while the signing secret rotates. The event's id stays the same over attempts.
 */
export const hookdeck: Preset = {
  name: "hookdeck",
  title: "Hookdeck",
  scheme: {
    type: "hmac",
    header: "x-hookdeck-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    otherHeaders: ["x-hookdeck-signature-2"],
    idHeader: "x-hookdeck-eventid",
  },
  secrets: { signing: "shared", description: "the project's signing secret, under Settings, Secrets" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-hookdeck-eventid", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 60_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [
    "x-hookdeck-eventid",
    "x-hookdeck-requestid",
    "x-hookdeck-source-name",
    "x-hookdeck-attempt-count",
    "x-hookdeck-attempt-trigger",
    "x-hookdeck-will-retry-after",
  ],
  parameters: [],
  behaviour: { retries: "as its connection is set up, up to 50 attempts; by hand at any time under the same event id" },
  sample: { body: '{"type":"order.created","order":"4711"}', headers: { "x-hookdeck-attempt-count": "1" } },
  documentation: "https://hookdeck.com/docs/authentication",
};
