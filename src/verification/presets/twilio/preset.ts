import type { HmacConfig } from "../../config.ts";
import type { DedupeSource, Preset } from "../preset.ts";
import { twilioContent } from "./signed-content.ts";

const SCHEME = {
  type: "hmac",
  header: "x-twilio-signature",
  encoding: "base64",
  prefix: "",
  signedContent: twilioContent,
} satisfies Partial<HmacConfig>;

/** One call or message has several events, which differ in its status. Names and values can be moved into each other, so the body belongs to the id. */
const ID_FIELDS = ["MessageSid", "MessageStatus", "CallSid", "CallStatus"];

/**
 * Twilio: HMAC-SHA1 in base64 over the URL and the form. Under a Webhooks Rule it is HMAC-SHA256 with a shared key, which a route says by its parameter:
 * the header that names the algorithm is not signed and is not believed. No timestamp.
 */
export const twilio: Preset = {
  name: "twilio",
  title: "Twilio",
  scheme: ({ algorithm }) => ({ ...SCHEME, algorithm: algorithm === "sha256" ? "sha256" : "sha1" }),
  secrets: {
    signing: "shared",
    description: "the account's auth token (Console, Account info), or the shared key of a Webhooks Rule",
  },
  toleranceMs: 0,
  dedupe: ID_FIELDS.map((name): DedupeSource => ({ from: "form", name, signed: false, optional: true })),
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 15_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["i-twilio-idempotency-token"],
  parameters: [
    {
      name: "algorithm",
      required: false,
      description: "sha256 if a Webhooks Rule with a shared key signs; else sha1, which is the default",
      values: ["sha1", "sha256"],
    },
  ],
  behaviour: {
    retries: "none by itself; connection overrides in the URL (#rc=…) ask for some, with the same signature",
    note: "the URL is signed with its query: set publicUrl to what is configured at Twilio; Twilio shows an answer's body to a caller, so instructions (TwiML) cannot come from here",
  },
  sample: {
    body: "AccountSid=ACsample&ApiVersion=2010-04-01&From=%2B15005550006&MessageSid=$id&MessageStatus=delivered&To=%2B15005550009",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  },
  documentation: "https://www.twilio.com/docs/usage/webhooks/webhooks-security",
};
