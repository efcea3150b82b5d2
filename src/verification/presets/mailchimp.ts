import { getPresence } from "../handshakes/presence.ts";
import type { Preset } from "./preset.ts";

/** Mailchimp's audience webhooks: nothing is signed, so a token of one's own stands in the URL (`?token=…`). Bodies are forms. */
export const mailchimp: Preset = {
  name: "mailchimp",
  title: "Mailchimp",
  scheme: { type: "query-token", parameter: "token" },
  secrets: {
    signing: "shared",
    description: "a long random text of your own; it stands in the URL given to Mailchimp as ?token=…",
  },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [getPresence],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "several times with growing delays",
    note: "the body is not authenticated; URLs end up in logs of proxies: rotate the token. A GET without a token is answered too: Mailchimp looks whether the URL is there",
  },
  sample: {
    body: "type=subscribe&fired_at=$nowIso&data%5Bid%5D=$id&data%5Blist_id%5D=a6b5da1054",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  },
  documentation: "https://mailchimp.com/developer/marketing/guides/sync-audience-data-webhooks/",
};
