import { piecesOf } from "../pieces.ts";
import type { Preset } from "./preset.ts";

/** WorkOS: `t=…, v1=…` over `t.body` with the time in milliseconds, good for 3 minutes in WorkOS' libraries. */
export const workos: Preset = {
  name: "workos",
  title: "WorkOS",
  scheme: piecesOf(
    {
      type: "hmac",
      header: "workos-signature",
      algorithm: "sha256",
      encoding: "hex",
      hexCase: "lower",
      prefix: "v1=",
      separator: ",",
      signedContent: "{timestamp}.{body}",
      timestamp: { param: "t", unit: "milliseconds" },
    },
    // Written with a blank behind the comma; the libraries take it with and without.
    (values) => (values.length === 1 ? [(values[0] ?? "").replace(", ", ",")] : []),
    "workos-signature: t=…, v1=…, HMAC-SHA256 over {timestamp}.{body}",
  ),
  secrets: { signing: "shared", description: "the signing secret of the webhook endpoint (Dashboard, Webhooks)" },
  toleranceMs: 180_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: { retries: "with growing delays for up to 3 days" },
  sample: {
    body: '{"id":"$id","event":"dsync.user.created","data":{"id":"directory_user_1","state":"active"},"created_at":"$nowIso"}',
  },
  documentation: "https://workos.com/docs/events/data-syncing/webhooks",
};
