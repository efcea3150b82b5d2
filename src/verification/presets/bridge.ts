import { hash } from "node:crypto";
import type { SignedContent } from "../config.ts";
import { contentBytes } from "../content.ts";
import type { Preset } from "./preset.ts";

/**
 * Bridge signs the SHA-256 digest of `timestamp.body` as if it were the message, so that RSA-SHA256 hashes it once more: its documentation's test data verify so
 * and in no other way.
 */
const digestOfTimeAndBody: SignedContent = {
  contents: ({ body }, { timestamp = "" }) => [[hash("sha256", contentBytes([`${timestamp}.`, body]), "buffer")]],
  description: "SHA-256 of {timestamp}.{body}",
};

/** Bridge (bridge.xyz): RSA-SHA256 with a key for each webhook; each attempt is signed anew. */
export const bridge: Preset = {
  name: "bridge",
  title: "Bridge",
  scheme: {
    type: "public-key",
    header: "x-webhook-signature",
    algorithm: "rsa-sha256",
    keyFormat: "pem",
    encoding: "base64",
    prefix: "v0=",
    separator: ",",
    signedContent: digestOfTimeAndBody,
    timestamp: { param: "t", unit: "milliseconds" },
  },
  secrets: {
    signing: "public-key",
    description: "public_key of the webhook, as PEM with its line breaks, from the answer that made it",
  },
  toleranceMs: 600_000,
  dedupe: [{ from: "json", pointer: "/event_id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "until it is answered with 2xx, each time signed anew",
    note: "webhooks start disabled: enable one with status active",
  },
  sample: {
    body: '{"api_version":"v0","event_id":"$id","event_category":"transfer","event_type":"transfer.updated","event_object_id":"t1","event_created_at":"$nowIso"}',
  },
  documentation: "https://apidocs.bridge.xyz/platform/additional-information/webhooks/signature",
};
