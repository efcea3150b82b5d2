import { zoomUrlValidation } from "../handshakes/zoom.ts";
import type { Preset } from "./preset.ts";

/**
 * Zoom: HMAC-SHA256 over `v0:timestamp:body`. There is no id of an event, and each attempt is signed anew; the body has a time in milliseconds, so equal
 * bodies are one event.
 */
export const zoom: Preset = {
  name: "zoom",
  title: "Zoom",
  scheme: {
    type: "hmac",
    header: "x-zm-signature",
    algorithm: "sha256",
    encoding: "hex",
    hexCase: "lower",
    prefix: "v0=",
    signedContent: "v0:{timestamp}:{body}",
    timestamp: { header: "x-zm-request-timestamp", unit: "seconds" },
  },
  secrets: { signing: "shared", description: "the app's secret token, under Features, Access" },
  toleranceMs: 300_000,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 2 * 3_600_000,
  ackBudgetMs: 3_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/event" },
  statusOverrides: {},
  handshakes: [zoomUrlValidation],
  showHeaders: ["x-zm-request-timestamp", "x-zm-trackingid"],
  parameters: [],
  behaviour: {
    retries: "after 5, 20 and 60 minutes, each time after the attempt before it",
    danger: "the URL is validated again every 72 hours; after six failures it is switched off",
    note: "only 200 and 204 within 3 s count",
  },
  sample: {
    body: '{"event":"meeting.started","event_ts":$nowMs,"payload":{"account_id":"AAAAAABBBB","object":{"id":"1234567890","topic":"Stand-up"}}}',
  },
  documentation: "https://developers.zoom.us/docs/api/webhooks/",
};
