import type { Preset } from "../preset.ts";
import { hook0Config } from "./scheme.ts";

/**
 * Hook0: `X-Hook0-Signature` with a timestamp, good for 5 minutes, and headers that are signed with the body. Which headers those are is up to the sender,
 * so that the event's id counts together with the body.
 */
export const hook0: Preset = {
  name: "hook0",
  title: "Hook0",
  scheme: hook0Config(["v0", "v1"]),
  secrets: { signing: "shared", description: "the secret of the subscription, a UUID, as text" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-event-id", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 8 * 86_400_000,
  ackBudgetMs: 15_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:x-event-type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-event-id", "x-event-type"],
  parameters: [],
  behaviour: {
    retries:
      "after 3 and 10 seconds, 3, 10 and 30 minutes, then hours, up to 24 times in 8 days, each time signed anew",
    note: "where v1 is sent v0 does not count; the event's id counts together with the body, because the sender chooses which headers are signed",
  },
  sample: {
    body: '{"sample":true}',
    headers: { "content-type": "application/json", "x-event-id": "$id", "x-event-type": "sample.event.created" },
  },
  documentation: "https://documentation.hook0.com/tutorials/webhook-authentication",
};
