import { hubspotV3Content } from "./uri.ts";
import type { Preset } from "../preset.ts";

/** What the three generations of signatures have in common. A batch has up to 100 events; its attempt number is in the body. */
const COMMON = {
  secrets: { signing: "shared", description: "the app's client secret (Auth tab of the app), as text" },
  dedupe: ["/0/portalId", "/0/subscriptionId", "/0/eventId", "/0/occurredAt", "/0/objectId"].map((pointer) => ({
    from: "json",
    pointer,
    signed: true,
    ...(pointer !== "/0/eventId" && { optional: true }),
  })),
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 202 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/0/subscriptionType" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  sample: {
    body: '[{"eventId":"$id","subscriptionId":3923621,"portalId":48807704,"appId":16111050,"occurredAt":$nowMs,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":138017612137,"changeFlag":"CREATED","changeSource":"CRM_UI"}]',
  },
  documentation:
    "https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation",
} as const satisfies Partial<Preset>;

const BATCH_NOTE =
  "several events may come as one list, which has no id: repeated, it is new, for the attempt's number is in it";

/**
 * HubSpot, signature v3: HMAC-SHA256 in base64 over method, URL, body and a timestamp in milliseconds, good for 5 minutes. `eventId` alone is not
 * unique, as HubSpot says itself.
 */
export const hubspot: Preset = {
  ...COMMON,
  name: "hubspot",
  title: "HubSpot",
  scheme: {
    type: "hmac",
    header: "x-hubspot-signature-v3",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "",
    signedContent: hubspotV3Content,
    timestamp: { header: "x-hubspot-request-timestamp", unit: "milliseconds" },
  },
  toleranceMs: 300_000,
  // A body of a workflow may be that of the run before; the signed time, in milliseconds, is another.
  withoutId: "Signature",
  behaviour: { retries: "up to 10 times within 24 hours, each time signed anew", note: BATCH_NOTE },
};

/** HubSpot, signature v1: SHA-256 over client secret and body, which is no HMAC. */
export const hubspotV1: Preset = {
  ...COMMON,
  name: "hubspot-v1",
  title: "HubSpot (signature v1)",
  scheme: {
    type: "prefix-hash",
    header: "x-hubspot-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  toleranceMs: 0,
  behaviour: {
    retries: "up to 10 times within 24 hours",
    note: `an old scheme without a timestamp: prefer hubspot; ${BATCH_NOTE}`,
  },
};

/**
 * HubSpot, signature v2: SHA-256 over client secret, method, URL and body, which is no HMAC. For workflow actions and CRM cards, whose bodies are the same
 * whenever a workflow runs again for an object that did not change.
 */
export const hubspotV2: Preset = {
  ...COMMON,
  name: "hubspot-v2",
  title: "HubSpot (signature v2)",
  scheme: {
    type: "prefix-hash",
    header: "x-hubspot-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{method}{url}{body}",
  },
  toleranceMs: 0,
  withoutId: "None",
  behaviour: {
    retries: "up to 10 times within 24 hours",
    note: `an old scheme without a timestamp: prefer hubspot; what comes without an id, as lists and the bodies of workflows do, is new each time, also when it is repeated`,
  },
};
