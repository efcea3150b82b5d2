import type { Preset } from "./preset.ts";

/**
 * Cloudflare Notifications to a generic webhook: the secret is sent as it is in `cf-webhook-auth`, nothing is signed. The body has the time of the alert, so
 * equal bodies are one.
 */
export const cloudflareNotifications: Preset = {
  name: "cloudflare-notifications",
  title: "Cloudflare Notifications",
  scheme: { type: "token", header: "cf-webhook-auth", prefix: "" },
  secrets: { signing: "shared", description: "the secret of the webhook destination, as typed" },
  toleranceMs: 0,
  dedupe: [],
  withoutId: "Body",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/alert_type" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "not documented",
    danger: "making the destination sends a test that must be answered 2xx",
    note: "the body is not authenticated",
  },
  sample: {
    body: '{"name":"ops","text":"$id","data":{"severity":"INFO"},"ts":$now,"account_id":"a1","policy_id":"p1","policy_name":"Origin","alert_type":"health_check_status_notification"}',
  },
  documentation: "https://developers.cloudflare.com/notifications/get-started/configure-webhooks/",
};
