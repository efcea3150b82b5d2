import type { MaterialRequest } from "../material.ts";
import type { Preset } from "./preset.ts";

/** Plaid's hosts: https://plaid.com/docs/api/. */
const ORIGINS: ReadonlyMap<string, string> = new Map([
  ["production", "https://production.plaid.com"],
  ["sandbox", "https://sandbox.plaid.com"],
]);

/** Where Plaid hands out the public key of a `kid`, to whoever has the client's secret. */
function verificationKey(parameters: Readonly<Record<string, string>>, kid: string): MaterialRequest {
  const origin = ORIGINS.get(parameters["environment"] ?? "production") ?? "https://production.plaid.com";
  const url = `${origin}/webhook_verification_key/get`;
  return {
    kind: "jwk",
    url,
    id: `${url}#${kid}`,
    body: ([credential]) => ({
      client_id: parameters["clientId"],
      secret: credential?.secret.reveal().toString("utf8"),
      key_id: kid,
    }),
    jwkAt: "/key",
    expiredAt: "/key/expired_at",
  };
}

/**
 * Plaid: a JWT with ES256 that holds the SHA-256 of the body and the time, good for 5 minutes. The key comes from Plaid's API by its `kid`; one with
 * `expired_at` is not used any more. Bodies have neither id nor time, so that two events may have one body (SYNC_UPDATES_AVAILABLE of an Item), and each
 * attempt is signed anew: nothing tells a repetition from the next event.
 */
export const plaid: Preset = {
  name: "plaid",
  title: "Plaid",
  scheme: (parameters) => ({
    type: "jwt",
    header: "plaid-verification",
    algorithm: "ES256",
    bodyHashClaim: "request_body_sha256",
    timeClaim: "iat",
    key: (kid) => verificationKey(parameters, kid),
  }),
  secrets: {
    signing: "none",
    others: ["ApiCredential"],
    description: "the secret of the client for the environment (Dashboard, Developers, Keys), as use ApiCredential",
  },
  toleranceMs: 300_000,
  dedupe: [],
  withoutId: "None",
  retryWindowMs: 86_400_000,
  ackBudgetMs: 10_000,
  ack: { status: 200 },
  payload: { format: "JSON", requiredFields: [], eventTypeFrom: "json:/webhook_code" },
  statusOverrides: {},
  handshakes: [],
  showHeaders: [],
  parameters: [
    {
      name: "clientId",
      required: true,
      description: "client_id of the account (Dashboard, Developers, Keys)",
      pattern: /^[0-9A-Za-z]{1,64}$/,
    },
    {
      name: "environment",
      required: false,
      description: "where the Items live; default production",
      values: ["production", "sandbox"],
    },
  ],
  behaviour: {
    retries: "for 24 hours: after 30 seconds, then four times later each time; each time signed anew",
    note: "events have no id and their bodies repeat, so a repetition is a new event: make what you do idempotent; the first event under a new key waits until the key is fetched from Plaid",
  },
  sample: {
    body: '{\n  "environment": "sandbox",\n  "item_id": "$id",\n  "webhook_code": "SYNC_UPDATES_AVAILABLE",\n  "webhook_type": "TRANSACTIONS"\n}',
  },
  documentation: "https://plaid.com/docs/api/webhooks/webhook-verification/",
};
