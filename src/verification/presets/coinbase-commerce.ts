import type { Preset } from "./preset.ts";

/**
 * Coinbase Commerce: HMAC-SHA256 over the body. `event.id` is the event's; the outer `id` counts attempts. Anything but 200 is repeated.
 */
export const coinbaseCommerce: Preset = {
  name: "coinbase-commerce",
  title: "Coinbase Commerce",
  scheme: {
    type: "hmac",
    header: "x-cc-webhook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the webhook shared secret, under Settings, Notifications" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: { retries: "for up to three days, at most an hour apart" },
  sample: {
    body: '{"id":1,"scheduled_for":"$nowIso","event":{"id":"$id","resource":"event","type":"charge:confirmed","api_version":"2018-03-22","data":{"code":"66BEOV2A"}}}',
  },
  documentation: "https://docs.cdp.coinbase.com/commerce/api-arcitecture/webhooks-security",
};
