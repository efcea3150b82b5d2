import type { Preset } from "./preset.ts";

/**
 * Adyen for Platforms, issuing, management: base64 HMAC-SHA256 over the body in `HmacSignature`; the key is written in hex. A resource's id is no event's:
 * type, resource and time are, together.
 */
export const adyenPlatform: Preset = {
  name: "adyen-platform",
  title: "Adyen for Platforms",
  scheme: {
    type: "hmac",
    header: "hmacsignature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
    secretEncoding: "hex",
  },
  secrets: { signing: "shared", description: "the HMAC key of the webhook in hex, as generated in the Customer Area" },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/type", signed: true },
    { from: "json", pointer: "/data/id", signed: true },
    { from: "json", pointer: "/timestamp", signed: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 7 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200, contentType: "text/plain", body: "[accepted]" },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["protocol"],
  parameters: [],
  behaviour: {
    retries: "queued and repeated for up to 7 days",
    danger: "without an answer in 10 s every later webhook of the endpoint is queued as well",
    note: "payment webhooks are signed in the body: preset adyen. After a new key is generated the old one is used for some time",
  },
  sample: {
    body: '{"type":"balancePlatform.accountHolder.updated","environment":"test","timestamp":"$nowIso","data":{"id":"$id","balancePlatform":"Acme"}}',
    headers: { protocol: "HmacSHA256" },
  },
  documentation: "https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures/",
};
