import type { HmacConfig } from "../config.ts";
import type { Preset } from "./preset.ts";

const ALGORITHMS = ["sha256", "sha1", "sha512", "md5"] as const;
const ENCODINGS = ["hex", "base64"] as const;

/** As an Outpost is set up. The prefix stands once, before signatures of all current secrets. */
function scheme(parameters: Readonly<Record<string, string>>): HmacConfig {
  const prefix = parameters["prefix"] ?? "v0=";
  return {
    type: "hmac",
    header: (parameters["header"] ?? "x-outpost-signature").toLowerCase(),
    algorithm: ALGORITHMS.find((name) => name === parameters["algorithm"]) ?? "sha256",
    encoding: ENCODINGS.find((name) => name === parameters["encoding"]) ?? "hex",
    hexCase: "lower",
    prefix,
    separator: ",",
    ...(prefix !== "" && { prefixOnce: true }),
    signedContent: "{body}",
    idHeader: "x-outpost-event-id",
  };
}

/**
 * Outpost: `v0=<hex>[,<hex>]` over the body, one signature for each secret while they rotate. Header, algorithm and encoding can be set up; the template
 * of the header's value is taken to be a prefix and the list.
 */
export const outpost: Preset = {
  name: "outpost",
  title: "Outpost",
  scheme,
  secrets: { signing: "shared", description: "the secret of the webhook destination, as text" },
  toleranceMs: 0,
  dedupe: [{ from: "header", name: "x-outpost-event-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-outpost-topic" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-outpost-event-id", "x-outpost-topic", "x-outpost-timestamp"],
  parameters: [
    {
      name: "algorithm",
      required: false,
      description: "the hash of the signatures; default sha256. md5 only where nothing else can be set up",
      values: ALGORITHMS,
    },
    {
      name: "encoding",
      required: false,
      description: "the encoding of the signatures; default hex",
      values: ENCODINGS,
    },
    {
      name: "header",
      required: false,
      description: "the name of the signature header; default x-outpost-signature",
      pattern: /^[0-9A-Za-z-]{1,64}$/,
    },
    {
      name: "prefix",
      required: false,
      description: "the text before the list of signatures; default v0=",
      pattern: /^[!-+\--~]{0,32}$/,
    },
  ],
  behaviour: {
    retries: "up to ten times, each time twice as long after 30 s, or by a list; the id of the event stays the same",
    danger: "100 failures in a row disable the destination where that is switched on",
    note: "answers below 400 count as success; it follows redirects",
  },
  sample: { body: '{"user_id":"u1","plan":"pro"}', headers: { "x-outpost-topic": "user.created" } },
  documentation: "https://hookdeck.com/docs/outpost/destinations/webhook",
};
