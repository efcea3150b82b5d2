import type { Preset } from "./preset.ts";

/** Airtable: HMAC-SHA256 over the body, keyed with a secret in base64. The body says only that there is something to fetch, and when. */
export const airtable: Preset = {
  name: "airtable",
  title: "Airtable",
  scheme: {
    type: "hmac",
    header: "x-airtable-content-mac",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "hmac-sha256=",
    signedContent: "{body}",
    secretEncoding: "base64",
  },
  secrets: {
    signing: "shared",
    description: "macSecretBase64 from the answer that made the webhook, in base64 as it is",
  },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 25_000,
  ack: { status: 204 },
  payload: { format: "JSON", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "up to 13 times over about a day",
    danger:
      "after that notifications are off until they are enabled again; a webhook expires after 7 days unless it is refreshed",
    note: "the changes themselves are fetched from Airtable with a cursor; only 200 and 204 with an empty body count",
  },
  sample: {
    body: '{"base":{"id":"app00000000000000"},"webhook":{"id":"ach00000000000000"},"timestamp":"$nowIso"}',
  },
  documentation: "https://airtable.com/developers/web/api/webhooks-overview",
};
