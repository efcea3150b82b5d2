import type { Preset } from "../preset.ts";
import { mailgunScheme } from "./scheme.ts";

/**
 * Mailgun: the signature stands in the body and covers a timestamp and a token, not the event. Mailgun's examples take a timestamp of 15 seconds at most
 * and advise to remember tokens. Whether a repetition has a token of its own is not documented: the old one is good until the last repetition has come. 200 is
 * the only success.
 */
export const mailgun: Preset = {
  name: "mailgun",
  title: "Mailgun",
  scheme: {
    type: "custom",
    description: "signature.signature of the body, over signature.timestamp and signature.token",
    covers: { body: false },
    signsTime: true,
    create: mailgunScheme,
  },
  secrets: {
    signing: "shared",
    description: "the HTTP webhook signing key of the account, or of the one it belongs to (Send, Sending, Webhooks)",
  },
  toleranceMs: 8 * 3_600_000,
  dedupe: [{ from: "json", pointer: "/event-data/id", signed: false }],
  bodyExcept: ["/signature"],
  withoutId: "Signature",
  retryWindowMs: 9 * 3_600_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/event-data/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "after 5, 10 and 15 minutes, 1, 2 and 4 hours, for 8 hours; any status but 200 and 406 is a failure",
    danger: "406 makes it give the event up",
    note: "the event itself is not signed: a token that was seen is refused with any other body; events of subaccounts verify with the key of the parent account as well",
  },
  sample: {
    body: '{"event-data":{"event":"delivered","id":"$id","timestamp":$now,"recipient":"someone.example","log-level":"info"}}',
  },
  documentation: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks",
};
