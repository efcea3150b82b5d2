import { graphValidationToken } from "../../handshakes/graph.ts";
import type { Preset } from "../preset.ts";
import { graphScheme } from "./scheme.ts";

/**
 * Microsoft Graph change notifications: a secret that was given with the subscription stands in every notification. Nothing is signed. Two changes of one
 * resource may be told in equal words, so that without an id every request is a new event.
 */
export const msGraph: Preset = {
  name: "ms-graph",
  title: "Microsoft Graph",
  scheme: {
    type: "custom",
    description: "clientState of every notification in the body, a static secret",
    covers: { body: false },
    signsTime: false,
    create: graphScheme,
  },
  secrets: {
    signing: "shared",
    description: "the clientState that the subscription was created with, up to 128 characters",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/value/0/id", signed: false }],
  withoutId: "None",
  retryWindowMs: 4 * 3_600_000,
  ackBudgetMs: 3_000,
  ack: { status: 202 },
  payload: { format: "JSON", requiredFields: ["value"], eventTypeFrom: "json:/value/0/changeType" },
  statusOverrides: {},
  handshakes: [graphValidationToken],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "for up to 4 hours, with the same content",
    danger: "when many answers take longer than 3 seconds notifications are delayed, and dropped beyond 10 seconds",
    note: "the secret stands in the body and reaches destinations with it; whoever reads one body can send others: restrict allowedSourceRanges as well",
  },
  sample: {
    body: '{"value":[{"id":"$id","subscriptionId":"7f105c7d-2dc5-4530-97cd-4e7ae6534c07","changeType":"created","resource":"users/sample/messages/sample","subscriptionExpirationDateTime":"$nowIso","tenantId":"84bd8158-6d4d-4958-8b9f-9d6445542f95"}]}',
    headers: { "content-type": "application/json" },
  },
  documentation: "https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks",
};
