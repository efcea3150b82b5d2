import type { Preset } from "./preset.ts";

/**
 * Cloudflare Stream: `time=…,sig1=…` over `time.body`. How old a request may be is left to the receiver, and whether a repetition is signed anew is not documented: a
 * day here, within which the id of the video tells it. A video is reported once it is ready or has failed.
 */
export const cloudflareStream: Preset = {
  name: "cloudflare-stream",
  title: "Cloudflare Stream",
  scheme: {
    type: "hmac",
    header: "webhook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "sig1=",
    signedContent: "{timestamp}.{body}",
    separator: ",",
    timestamp: { param: "time", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the secret in the API's answer when the webhook is made or read" },
  toleranceMs: 86_400_000,
  dedupe: [
    { from: "json", pointer: "/uid", signed: true },
    { from: "json", pointer: "/status/state", signed: true },
  ],
  idWithBody: true,
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/status/state" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "not documented",
    note: "one webhook an account; live inputs are reported through cloudflare-notifications",
  },
  sample: {
    body: '{"uid":"$id","readyToStream":true,"status":{"state":"ready","pctComplete":"100.000000"},"meta":{"name":"small.mp4"},"created":"$nowIso","modified":"$nowIso","duration":5.5}',
  },
  documentation: "https://developers.cloudflare.com/stream/manage-video-library/using-webhooks/",
};
