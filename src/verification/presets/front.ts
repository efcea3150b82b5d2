import { frontChallenge } from "../handshakes/front.ts";
import type { Preset } from "./preset.ts";

/**
 * Front's application webhooks: HMAC-SHA256 over `timestamp:body` with the time in milliseconds. (Rule webhooks are another system, with SHA-1 over the body.)
 */
export const front: Preset = {
  name: "front",
  title: "Front",
  scheme: {
    type: "hmac",
    header: "x-front-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{timestamp}:{body}",
    timestamp: { header: "x-front-request-timestamp", unit: "milliseconds" },
  },
  secrets: { signing: "shared", description: "the application's signing key, on its page in the developer settings" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/payload/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [frontChallenge],
  showHeaders: ["x-front-request-timestamp"],
  parameters: [],
  behaviour: {
    retries: "up to three times on 408, 429, 500 and timeouts",
    danger: "repeated failures switch the webhook off",
    note: "application webhooks only: rule webhooks are signed with HMAC-SHA1 over the body, which spec.verification.hmac can say",
  },
  sample: {
    body: '{"type":"inbound_received","authorization":{"id":"cmp_abc"},"payload":{"id":"$id","type":"inbound","emitted_at":$now,"conversation":{"id":"cnv_55c8c149"}}}',
  },
  documentation: "https://dev.frontapp.com/docs/application-webhooks",
};
