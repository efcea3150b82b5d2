import type { Preset } from "./preset.ts";

/**
 * Webflow: HMAC-SHA256 over `timestamp:body` with the time in milliseconds, for webhooks made by an OAuth app or through the API. Webflow advises five minutes,
 * and does not say that what it repeats for half an hour is signed anew: that long it is taken, and known by its signature.
 */
export const webflow: Preset = {
  name: "webflow",
  title: "Webflow",
  scheme: {
    type: "hmac",
    header: "x-webflow-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{timestamp}:{body}",
    timestamp: { header: "x-webflow-timestamp", unit: "milliseconds" },
  },
  secrets: {
    signing: "shared",
    description: "the client secret of the OAuth app, or the secretKey of a webhook made with a site token",
  },
  toleranceMs: 45 * 60_000,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 3_600_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/triggerType" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-webflow-timestamp"],
  parameters: [],
  behaviour: {
    retries: "three times, ten minutes apart",
    note: "webhooks made in the dashboard have no signature",
  },
  sample: {
    body: '{"triggerType":"form_submission","payload":{"id":"$id","name":"Contact","siteId":"s1","submittedAt":"$nowIso","data":{"email":"-"}}}',
  },
  documentation: "https://developers.webflow.com/data/docs/working-with-webhooks",
};
