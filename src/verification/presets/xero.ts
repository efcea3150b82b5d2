import { xeroIntentToReceive } from "../handshakes/xero.ts";
import type { Preset } from "./preset.ts";

/**
 * Xero: base64 HMAC-SHA256 over the body. Xero tests a URL with right and wrong signatures and wants 200 without a body for the first and 401 for the others,
 * within five seconds, always.
 */
export const xero: Preset = {
  name: "xero",
  title: "Xero",
  scheme: {
    type: "hmac",
    header: "x-xero-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the webhooks signing key of the app" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200, contentType: "text/plain", body: "" },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: { HeaderMissing: 401, SignatureMissing: 401, TimestampMalformed: 401 },
  handshakes: [xeroIntentToReceive],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "for up to 24 hours, less and less often",
    danger: "after 24 hours of failures the webhook is disabled; a wrong signature must be answered 401",
    note: "the answer has neither body nor cookies; a request holds several events",
  },
  sample: {
    body: '{"events":[{"resourceId":"$id","eventType":"UPDATE","eventCategory":"INVOICE","tenantId":"t1","eventDateUtc":"$nowIso"}],"firstEventSequence":1,"lastEventSequence":1,"entropy":"S0m3r4Nd0mt3xt"}',
  },
  documentation: "https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/",
};
