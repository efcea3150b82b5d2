import type { HmacConfig, StandardWebhooksConfig } from "../config.ts";
import type { Preset } from "./preset.ts";

/** What differs between the senders of Standard Webhooks. */
type SenderFacts = Pick<
  Preset,
  "name" | "title" | "secrets" | "retryWindowMs" | "ackBudgetMs" | "behaviour" | "sample" | "documentation"
> & {
  readonly ack?: Preset["ack"];
  readonly eventTypeFrom?: string;
  /** Headers besides those of the specification that are kept and shown. */
  readonly showHeaders?: readonly string[];
  /** Default `base64`, as the specification has it. `raw`: the secret's text is the key, whatever it looks like. */
  readonly secret?: "base64" | "raw";
};

const STANDARD: StandardWebhooksConfig = { type: "standard-webhooks" };

/** The same scheme with a key that is not written in base64: `v1` only. */
const RAW_KEY: HmacConfig = {
  type: "hmac",
  header: "webhook-signature",
  algorithm: "sha256",
  encoding: "base64",
  prefix: "v1,",
  separator: " ",
  signedContent: "{id}.{timestamp}.{body}",
  timestamp: { header: "webhook-timestamp", unit: "seconds" },
  idHeader: "webhook-id",
};

/**
 * The preset of a sender that follows the Standard Webhooks specification: signed `id.timestamp.body`, 300 s either way, the id signed and the same over
 * retries, which are signed anew. Where people look for the sender by its own name, it has a preset of its own.
 */
export function standardWebhooksSender(facts: SenderFacts): Preset {
  const { eventTypeFrom, showHeaders = [], secret = "base64", ack = { status: 202 }, ...rest } = facts;
  return {
    ...rest,
    scheme: secret === "raw" ? RAW_KEY : STANDARD,
    toleranceMs: 300_000,
    dedupe: [{ from: "header", name: "webhook-id", signed: true }],
    withoutId: "Signature",
    ack,
    payload: { format: "Any", requiredFields: [], ...(eventTypeFrom !== undefined && { eventTypeFrom }) },
    statusOverrides: {},
    handshakes: [],
    showHeaders: ["webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp", ...showHeaders],
    parameters: [],
  };
}
