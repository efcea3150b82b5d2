import { HANDSHAKE_PARAMETER } from "../handshakes/first-use.ts";
import { asanaHeartbeat, asanaHookSecret } from "../handshakes/asana.ts";
import type { Preset } from "./preset.ts";

/**
 * Asana: HMAC-SHA256 over the body, keyed with the secret of the handshake. Events come in batches without an id; an empty batch is the heartbeat.
 */
export const asana: Preset = {
  name: "asana",
  title: "Asana",
  scheme: {
    type: "hmac",
    header: "x-hook-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the X-Hook-Secret that Asana sends when the webhook is made (davit handshakes shows it)",
  },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [asanaHookSecret, asanaHeartbeat],
  showHeaders: [],
  parameters: [HANDSHAKE_PARAMETER],
  behaviour: {
    retries: "for up to 24 hours",
    danger: "24 hours of failures delete the webhook, 410 deletes it at once",
    note: "a heartbeat comes every 8 hours; delivery is at most once, so poll for what matters",
  },
  sample: {
    body: '{"events":[{"action":"changed","created_at":"$nowIso","resource":{"gid":"1","resource_type":"task"},"change":{"field":"name","action":"changed"}}]}',
  },
  documentation: "https://developers.asana.com/docs/webhooks-guide",
};
