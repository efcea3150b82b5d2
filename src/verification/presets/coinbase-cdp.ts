import { hook0Config } from "./hook0/scheme.ts";
import type { Preset } from "./preset.ts";

/**
 * Coinbase Developer Platform: Hook0's signature with listed headers, good for 5 minutes. Which headers are listed is up to Coinbase, so that the event's id
 * counts together with the body.
 */
export const coinbaseCdp: Preset = {
  name: "coinbase-cdp",
  title: "Coinbase Developer Platform",
  scheme: hook0Config(["v1"]),
  secrets: { signing: "shared", description: "the secret in the answer that created the subscription, as text" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-event-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 8 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "header:x-event-type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-event-id", "x-event-type"],
  parameters: [],
  behaviour: {
    retries: "up to 60 times with growing delays, each time signed anew",
    note: "the event's id counts together with the body, because the list of signed headers is not fixed",
  },
  sample: {
    body: '{"eventType":"onchain.activity.detected","timestamp":"$nowIso","data":{"network":"base-mainnet"}}',
    headers: { "content-type": "application/json", "x-event-id": "$id", "x-event-type": "onchain.activity.detected" },
  },
  documentation: "https://docs.cdp.coinbase.com/webhooks/verify-signatures",
};
