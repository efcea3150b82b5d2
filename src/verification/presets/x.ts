import { xCrc } from "../handshakes/x.ts";
import { objectBody } from "../object-body.ts";
import type { Preset } from "./preset.ts";

/**
 * X (Twitter), Account Activity and other webhooks: HMAC-SHA256 over the body, base64 behind `sha256=`, keyed with the app's consumer secret. There is no id.
 */
export const x: Preset = {
  name: "x",
  title: "X (Twitter)",
  scheme: {
    type: "hmac",
    header: "x-twitter-webhooks-signature",
    algorithm: "sha256",
    encoding: "base64",
    prefix: "sha256=",
    signedContent: objectBody(),
  },
  secrets: { signing: "shared", description: "the app's consumer secret (API key secret)" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 3_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [] },
  statusOverrides: {},
  handshakes: [xCrc],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "three times within about 5 minutes",
    danger: "a challenge that is not answered within 3 s makes the webhook invalid; it comes every hour",
    note: "the URL must not have a port",
  },
  sample: {
    body: '{"for_user_id":"1","tweet_create_events":[{"id_str":"$id","created_at":"$nowIso","text":"hello"}]}',
  },
  documentation: "https://docs.x.com/x-api/webhooks/quickstart",
};
