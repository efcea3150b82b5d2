import { emptyPost } from "../../handshakes/presence.ts";
import type { Preset } from "../preset.ts";
import { exactOnlineScheme } from "./scheme.ts";

/** Exact Online: the signature stands in the body and covers its `Content`, which says what changed and not how. */
export const exactOnline: Preset = {
  name: "exact-online",
  title: "Exact Online",
  scheme: {
    type: "custom",
    description: "HashCode of the body, HMAC-SHA256 in hex over the text of Content",
    covers: { body: true },
    signsTime: false,
    create: exactOnlineScheme,
  },
  secrets: { signing: "shared", description: "the app's webhook secret (App Center), not its OAuth client secret" },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/Content/Topic", signed: true },
    { from: "json", pointer: "/Content/Action", signed: true },
    { from: "json", pointer: "/Content/Key", signed: true },
    { from: "json", pointer: "/Content/EventCreatedOn", signed: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/Content/Topic" },
  statusOverrides: {},
  handshakes: [emptyPost],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "when it is not answered with 2xx; how often is not documented",
    danger: "the empty POST after a subscription was made must get 2xx",
    note: "changes come in batches, minutes later: go by EventCreatedOn; fetch the record itself from the API",
  },
  sample: {
    body: '{"Content":{"Topic":"Accounts","ClientId":"c1","Division":123456,"Action":"Update","Key":"$id","ExactOnlineEndpoint":"https://start.exactonline.nl/api/v1/123456/crm/Accounts","EventCreatedOn":"$nowIso"}}',
  },
  documentation: "https://support.exactonline.com/community/s/article/All-All-DNO-Content-webhookstut?language=en_GB",
};
