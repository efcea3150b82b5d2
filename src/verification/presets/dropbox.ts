import { queryChallenge } from "../handshakes/query-challenge.ts";
import type { Preset } from "./preset.ts";

/**
 * Dropbox: HMAC-SHA256 over the body. A notification says whose files changed and nothing else, so equal bodies are different events.
 */
export const dropbox: Preset = {
  name: "dropbox",
  title: "Dropbox",
  scheme: {
    type: "hmac",
    header: "x-dropbox-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the app secret, in the App Console" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "None",
  retryWindowMs: 10 * 60_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [queryChallenge],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "with growing distances for about ten minutes",
    danger: "an app whose webhook fails too often gets no more notifications",
    note: "anything but 200 is a failure. What changed is asked for through the API",
  },
  sample: {
    body: '{"list_folder":{"accounts":["dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc"]},"delta":{"users":[12345678]}}',
  },
  documentation: "https://www.dropbox.com/developers/reference/webhooks",
};
