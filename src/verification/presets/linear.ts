import type { Preset } from "./preset.ts";

/**
 * Linear: HMAC-SHA256 over the body. The time that counts is `webhookTimestamp` in the signed body; the header `Linear-Timestamp` is not signed and not
 * used. Linear advises a minute, but repeats for seven hours and does not say that it stamps anew: what it may repeat is taken. Anything but 200 is a failure.
 */
export const linear: Preset = {
  name: "linear",
  title: "Linear",
  scheme: {
    type: "hmac",
    header: "linear-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
    timestamp: { json: "/webhookTimestamp", unit: "milliseconds" },
    idHeader: "linear-delivery",
  },
  secrets: { signing: "shared", description: "the webhook's signing secret, on its detail page" },
  toleranceMs: 8 * 3_600_000,
  dedupe: [{ from: "header", name: "linear-delivery", signed: false }],
  bodyExcept: ["/webhookTimestamp"],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["linear-delivery", "linear-event"],
  parameters: [],
  behaviour: {
    retries: "three times: after 1 minute, 1 hour and 6 hours",
    danger: "a webhook that keeps failing may be switched off",
    note: "a repetition is taken for as long as Linear repeats, 8 hours; with verification.tolerance 1m, as Linear advises, one that is not stamped anew is refused",
  },
  sample: {
    body: '{"action":"update","type":"Issue","createdAt":"$nowIso","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","title":"Disk is full"},"webhookTimestamp":$nowMs}',
    headers: { "linear-event": "Issue" },
  },
  documentation: "https://linear.app/developers/webhooks",
};
