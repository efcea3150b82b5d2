import { oktaVerificationChallenge } from "../handshakes/okta.ts";
import type { Preset } from "./preset.ts";

/**
 * Okta event hooks: a token of one's own in `Authorization`, nothing is signed. The answer must be empty, with 200 or 204, within three seconds.
 */
export const okta: Preset = {
  name: "okta",
  title: "Okta event hook",
  scheme: { type: "token", header: "authorization", prefix: "" },
  secrets: { signing: "shared", description: "the authentication secret of the event hook, as typed" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/eventId", signed: false }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 3_000,
  ack: { status: 200, contentType: "text/plain", body: "" },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/data/events/0/eventType" },
  statusOverrides: {},
  handshakes: [oktaVerificationChallenge],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "once, after a timeout or an error",
    danger: "the hook must be verified before it is used: a one-time GET",
    note: "the body is not authenticated; the authentication field of the hook must be Authorization",
  },
  sample: {
    body: '{"eventType":"com.okta.event_hook","eventTypeVersion":"1.0","cloudEventsVersion":"0.1","eventId":"$id","eventTime":"$nowIso","source":"https://acme.okta.com/api/v1/eventHooks/who1","data":{"events":[{"uuid":"u1","eventType":"user.lifecycle.create"}]}}',
  },
  documentation: "https://developer.okta.com/docs/concepts/event-hooks/",
};
