import type { Preset } from "./preset.ts";

/** Paystack: HMAC-SHA512 over the body in hex, keyed with the account's secret key. The id is the payment's, transfer's or dispute's, which may have one event twice. */
export const paystack: Preset = {
  name: "paystack",
  title: "Paystack",
  scheme: {
    type: "hmac",
    header: "x-paystack-signature",
    algorithm: "sha512",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: { signing: "shared", description: "the secret key, sk_live_… or sk_test_… (Settings, API Keys & Webhooks)" },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/event", signed: true },
    { from: "json", pointer: "/data/id", signed: true },
  ],
  idWithBody: true,
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 30_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: { retries: "live: four times every 3 minutes, then hourly for 72 hours; test: hourly for 10 hours" },
  sample: {
    body: '{"event":"charge.success","data":{"id":"$id","domain":"live","status":"success","reference":"qTPrJoy9Bx","amount":10000,"currency":"NGN","paid_at":"$nowIso"}}',
  },
  documentation: "https://paystack.com/docs/payments/webhooks/",
};
