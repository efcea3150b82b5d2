import { eventGridValidation } from "../handshakes/event-grid.ts";
import type { Preset } from "./preset.ts";

/**
 * Azure Event Grid: nothing is signed, so a token of one's own stands in the URL (`?token=…`), as Microsoft advises; it must be there for the validation too.
 * Events come in a list, by default with one event.
 */
export const azureEventGrid: Preset = {
  name: "azure-event-grid",
  title: "Azure Event Grid",
  scheme: { type: "query-token", parameter: "token" },
  secrets: {
    signing: "shared",
    description: "a long random text of your own; it stands in the endpoint URL of the subscription as ?token=…",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/0/id", signed: false }],
  withoutId: "Body",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 30_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/0/eventType" },
  statusOverrides: {},
  handshakes: [eventGridValidation],
  showHeaders: ["aeg-event-type", "aeg-subscription-name", "aeg-delivery-count", "aeg-metadata-version"],
  parameters: [],
  behaviour: {
    retries: "with growing delays for 24 hours; aeg-delivery-count grows",
    danger: "400 and 413 make it give the event up",
    note: "Event Grid schema only: subscriptions with CloudEvents are validated by OPTIONS, which is not answered. The body is not authenticated; rotate the token",
  },
  sample: {
    body: '[{"id":"$id","eventType":"Microsoft.Storage.BlobCreated","subject":"/blobServices/default/containers/c/blobs/b","eventTime":"$nowIso","data":{"api":"PutBlob"},"dataVersion":"","metadataVersion":"1"}]',
    headers: { "aeg-event-type": "Notification", "aeg-delivery-count": "0" },
  },
  documentation: "https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema",
};
