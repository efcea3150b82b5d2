import { HANDSHAKE_PARAMETER } from "../handshakes/first-use.ts";
import { notionVerificationToken } from "../handshakes/notion.ts";
import type { Preset } from "./preset.ts";

/**
 * Notion: HMAC-SHA256 over the body, keyed with the verification token. Notion's library compares hex in either case. `id` is the event's and stays the same
 * over attempts.
 */
export const notion: Preset = {
  name: "notion",
  title: "Notion",
  scheme: {
    type: "hmac",
    header: "x-notion-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "any",
    prefix: "sha256=",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the verification token that Notion sends when the subscription is made (davit handshakes shows it)",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [notionVerificationToken],
  showHeaders: [],
  parameters: [HANDSHAKE_PARAMETER],
  behaviour: {
    retries: "up to eight times within 24 hours; attempt_number in the body grows",
    note: "the URL cannot be changed after the subscription was verified",
  },
  sample: {
    body: '{"id":"$id","timestamp":"$nowIso","workspace_id":"w1","subscription_id":"s1","integration_id":"i1","type":"page.properties_updated","attempt_number":1,"entity":{"id":"p1","type":"page"},"data":{}}',
  },
  documentation: "https://developers.notion.com/reference/webhooks",
};
