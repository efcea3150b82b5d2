import { piecesOf } from "../pieces.ts";
import type { Preset } from "./preset.ts";

/**
 * Mollie's next-gen webhooks: HMAC-SHA256 over the body. For 24 hours after a secret was renewed the header comes once for each secret. Classic webhooks
 * (`webhookUrl` of a payment) carry nothing but an id and no signature; they are another matter.
 */
export const mollie: Preset = {
  name: "mollie",
  title: "Mollie",
  scheme: piecesOf(
    {
      type: "hmac",
      header: "x-mollie-signature",
      algorithm: "sha256",
      encoding: "hex",
      hexCase: "lower",
      prefix: "sha256=",
      signedContent: "{body}",
    },
    (values) => values.flatMap((value) => value.split(", ")),
    "x-mollie-signature: sha256=…, HMAC-SHA256 over {body}; once for each secret while one is renewed",
  ),
  secrets: { signing: "shared", description: "the signing secret of the webhook subscription (Developers, Webhooks)" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 26 * 3_600_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "ten times over 26 hours",
    note: "next-gen webhooks only: classic ones are unsigned and carry an id alone, so take type none there and ask Mollie's API",
  },
  sample: {
    body: '{"resource":"event","id":"$id","type":"payment-link.paid","entityId":"pl_qng5gbbv8NAZ5gpM5ZYgx","createdAt":"$nowIso"}',
  },
  documentation: "https://docs.mollie.com/reference/webhooks-best-practices",
};
