import { mondayChallenge } from "../handshakes/monday.ts";
import type { Preset } from "./preset.ts";

/**
 * monday.com: a JWT with HS256 in `Authorization`, good until its `exp`, 5 minutes after it was made. It says who sends, not what: the body is not
 * covered. Tokens have no id, and events of one second share one, so that a token cannot be held to one body.
 */
export const monday: Preset = {
  name: "monday",
  title: "monday.com",
  scheme: {
    type: "jwt",
    header: "authorization",
    prefix: "Bearer ",
    prefixOptional: true,
    algorithm: "HS256",
    timeClaim: "exp",
  },
  secrets: {
    signing: "shared",
    description:
      "the app's signing secret (Developer Center, Basic information); its client secret for lifecycle events",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/event/triggerUuid", signed: false }],
  withoutId: "Body",
  retryWindowMs: 3_600_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/event/type" },
  statusOverrides: {},
  handshakes: [mondayChallenge],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "once a minute for 30 minutes, with a new token",
    note: "the body is not signed: whoever sees a token can send any body with it for 5 minutes, so fetch from monday.com what matters; webhooks made by the API without an app have no token, and are refused",
  },
  sample: {
    body: '{"event":{"type":"create_pulse","triggerUuid":"$id","boardId":1,"pulseId":1,"pulseName":"sample"}}',
  },
  documentation: "https://developer.monday.com/apps/docs/authorization-header",
};
