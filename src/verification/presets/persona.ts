import { piecesOf } from "../pieces.ts";
import type { Preset } from "./preset.ts";

/** Persona: `t=…,v1=…` over `t.body`. While a secret is rotated the header holds two such pairs with a blank between them, each with a time of its own. */
export const persona: Preset = {
  name: "persona",
  title: "Persona",
  scheme: piecesOf(
    {
      type: "hmac",
      header: "persona-signature",
      algorithm: "sha256",
      encoding: "hex",
      hexCase: "lower",
      prefix: "v1=",
      separator: ",",
      signedContent: "{timestamp}.{body}",
      timestamp: { param: "t", unit: "seconds" },
    },
    (values) => (values.length === 1 ? (values[0] ?? "").split(" ") : []),
    "persona-signature: t=…,v1=…, HMAC-SHA256 over {timestamp}.{body}; two of them while a secret is rotated",
  ),
  secrets: { signing: "shared", description: "the webhook's secret, wbhsec_… included (Dashboard, Webhooks)" },
  toleranceMs: 300_000,
  dedupe: [{ from: "json", pointer: "/data/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 5_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/data/attributes/name" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "up to seven times with growing delays, each time signed anew",
    note: "only 200, 201, 202 and 204 count; events may come out of order",
  },
  sample: {
    body: '{"data":{"type":"event","id":"$id","attributes":{"name":"inquiry.completed","created-at":"$nowIso","payload":{"data":{"type":"inquiry","id":"inq_1"}}}}}',
  },
  documentation: "https://docs.withpersona.com/webhooks-best-practices",
};
