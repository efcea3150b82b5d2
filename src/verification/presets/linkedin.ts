import { linkedinChallengeCode } from "../handshakes/linkedin.ts";
import { objectBody } from "../object-body.ts";
import type { Preset } from "./preset.ts";

/** LinkedIn: HMAC-SHA256 over `hmacsha256=` and the body, the prefix being part of what is signed and not of the header. */
export const linkedin: Preset = {
  name: "linkedin",
  title: "LinkedIn",
  scheme: {
    type: "hmac",
    header: "x-li-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: objectBody("hmacsha256="),
  },
  secrets: { signing: "shared", description: "the application's client secret (developer portal, Auth)" },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/notifications/0/notificationId", signed: true }],
  withoutId: "Body",
  retryWindowMs: 8 * 3_600_000,
  ackBudgetMs: 3_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/type" },
  statusOverrides: {},
  handshakes: [linkedinChallengeCode],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "every 5 minutes for up to 8 hours",
    danger: "the endpoint is validated again every 2 hours; three failures block it",
    note: "duplicates are expected; several notifications may come in one body, which then has no id of its own",
  },
  sample: {
    body: '{"type":"ORGANIZATION_SOCIAL_ACTION_NOTIFICATIONS","notifications":[{"notificationId":"$id","organizationalEntity":"urn:li:organization:1","action":"COMMENT","lastModifiedAt":$nowMs}]}',
  },
  documentation: "https://learn.microsoft.com/en-us/linkedin/shared/api-guide/webhook-validation",
};
