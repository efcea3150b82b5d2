import type { Preset } from "./preset.ts";

/** HCP Terraform and Terraform Enterprise: HMAC-SHA512 over the body in hex, for notification configurations with a token. */
export const terraformCloud: Preset = {
  name: "terraform-cloud",
  title: "HCP Terraform",
  scheme: {
    type: "hmac",
    header: "x-tfe-notification-signature",
    algorithm: "sha512",
    encoding: "hex",
    hexCase: "lower",
    prefix: "",
    signedContent: "{body}",
  },
  secrets: {
    signing: "shared",
    description: "the token of the notification configuration (workspace, Settings, Notifications)",
  },
  toleranceMs: 0,
  dedupe: [
    { from: "json", pointer: "/run_id", signed: true },
    { from: "json", pointer: "/notifications/0/trigger", signed: true },
    { from: "json", pointer: "/notifications/0/run_updated_at", signed: true },
  ],
  withoutId: "Signature",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/notifications/0/trigger" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "not documented",
    note: "enabling a configuration sends an event with trigger verification, which must be answered with 2xx; without a token nothing is signed",
  },
  sample: {
    body: '{"payload_version":1,"notification_configuration_id":"nc-1","run_id":"$id","run_url":"https://app.terraform.io/app/acme/shop/runs/r1","workspace_name":"shop","organization_name":"acme","notifications":[{"message":"Run Completed","trigger":"run:completed","run_status":"applied","run_updated_at":"$nowIso","run_updated_by":"ci"}]}',
  },
  documentation: "https://developer.hashicorp.com/terraform/cloud-docs/workspaces/settings/notifications",
};
