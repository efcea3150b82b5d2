import type { HmacConfig } from "../config.ts";
import type { Preset } from "./preset.ts";

/** As a project of Convoy is set up. The comma between timestamp and body is Convoy's. */
function scheme({ mode, hash, encoding }: Readonly<Record<string, string>>): HmacConfig {
  const common = {
    type: "hmac",
    header: "x-convoy-signature",
    algorithm: hash === "SHA512" ? "sha512" : "sha256",
    encoding: encoding === "base64" ? "base64" : "hex",
    hexCase: "lower",
    idHeader: "x-convoy-idempotency-key",
  } as const;
  if (mode === "simple") return { ...common, prefix: "", signedContent: "{body}" };
  return {
    ...common,
    prefix: "v1=",
    separator: ",",
    signedContent: "{timestamp},{body}",
    timestamp: { param: "t", unit: "seconds" },
  };
}

/**
 * Convoy, outgoing projects: `t=…,v1=…[,v1=…]` over `t,body` (advanced), or the bare signature over the body (simple). Hash and encoding are the
 * project's. `X-Convoy-Idempotency-Key` is the event's and is not signed.
 */
export const convoy: Preset = {
  name: "convoy",
  title: "Convoy",
  scheme,
  secrets: { signing: "shared", description: "the endpoint's secret, as text" },
  toleranceMs: 300_000,
  dedupe: [{ from: "header", name: "x-convoy-idempotency-key", signed: false }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 202 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["x-convoy-idempotency-key"],
  parameters: [
    {
      name: "mode",
      required: false,
      description: "the project's signature form; default advanced, which signs a timestamp",
      values: ["advanced", "simple"],
    },
    {
      name: "hash",
      required: false,
      description: "the project's hash; default SHA256",
      values: ["SHA256", "SHA512"],
    },
    {
      name: "encoding",
      required: false,
      description: "the project's encoding of signatures; default hex",
      values: ["hex", "base64"],
    },
  ],
  behaviour: {
    retries: "as the project is set up; the key of the event stays the same",
    danger: "an endpoint that keeps failing is disabled where the project says so",
    note: "a project whose signature header has another name needs spec.verification.hmac",
  },
  sample: { body: '{"event":"charge.success","amount":1000,"currency":"NGN"}' },
  documentation: "https://www.getconvoy.io/docs/product-manual/signatures",
};
