import type { Preset } from "../preset.ts";
import { boxScheme } from "./scheme.ts";

/**
 * Box, webhooks v2: two keys, each for a header of its own; over body and timestamp, good for 10 minutes. `BOX-DELIVERY-ID` changes with every attempt,
 * the `id` in the body does not.
 */
export const box: Preset = {
  name: "box",
  title: "Box",
  scheme: {
    type: "custom",
    description: "box-signature-primary and box-signature-secondary over body + timestamp, a key for each; HMAC-SHA256",
    covers: { body: true },
    signsTime: true,
    create: boxScheme,
  },
  secrets: {
    signing: "shared",
    description:
      "the app's signature keys (Developer Console, Webhooks, Manage signature keys), with keyId primary and secondary; without keyId the first is the primary one",
  },
  toleranceMs: 600_000,
  dedupe: [{ from: "json", pointer: "/id", signed: true }],
  withoutId: "Body",
  retryWindowMs: 4 * 3_600_000,
  ackBudgetMs: 30_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/trigger" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: ["box-delivery-id", "box-delivery-timestamp"],
  parameters: [],
  behaviour: {
    retries: "up to 12 times within 2 hours, each time signed anew under a new BOX-DELIVERY-ID",
    note: "with one key only, set keyId to say which it is; change one key at a time",
  },
  sample: {
    body: '{"type":"webhook_event","id":"$id","created_at":"$nowIso","trigger":"FILE.UPLOADED","webhook":{"id":"1234567890","type":"webhook"},"source":{"id":"1234567890","type":"file","name":"sample.txt"}}',
  },
  documentation: "https://developer.box.com/guides/webhooks/v2/signatures-v2/",
};
