import type { Preset } from "./preset.ts";

/** An account may have up to 100 keys: `X-DocuSign-Signature-2` to `-100`. */
const OTHER_KEYS = Array.from({ length: 99 }, (_, index) => `x-docusign-signature-${index + 2}`);

/**
 * DocuSign Connect: base64 HMAC-SHA256 over the body, one header for each of the account's keys (`X-DocuSign-Signature-1` and on, 100 at most). One that
 * matches is enough.
 */
export const docusign: Preset = {
  name: "docusign",
  title: "DocuSign Connect",
  scheme: {
    type: "hmac",
    header: "x-docusign-signature-1",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    otherHeaders: OTHER_KEYS,
  },
  secrets: {
    signing: "shared",
    description: "one of the account's Connect keys, shown once under Connect, Connect Keys",
  },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/event", signed: true },
    { from: "json", pointer: "/data/envelopeId", signed: true },
    { from: "json", pointer: "/generatedDateTime", signed: true },
    { from: "json", pointer: "/data/recipientId", signed: true, optional: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 15 * 86_400_000,
  ackBudgetMs: 100_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-authorization-digest"],
  parameters: [],
  behaviour: {
    retries: "after about 5 minutes, then twice as long each time, for up to 15 days",
    note: "tick Include HMAC Signature in the configuration: without it nothing is signed. Messages in XML have no id",
  },
  sample: {
    body: '{"event":"envelope-completed","apiVersion":"v2.1","generatedDateTime":"$nowIso","data":{"accountId":"a1","envelopeId":"$id","envelopeSummary":{"status":"completed"}}}',
  },
  documentation: "https://developers.docusign.com/platform/webhooks/connect/hmac/",
};
