import { ebayChallengeCode } from "../../handshakes/ebay.ts";
import type { Preset } from "../preset.ts";
import { ebayScheme } from "./scheme.ts";

/**
 * eBay's notifications, account deletion among them. The public key comes from eBay's API by its `kid`, which wants an OAuth token that is good for two hours:
 * Davit does not fetch it, the Secret holds it.
 */
export const ebay: Preset = {
  name: "ebay",
  title: "eBay",
  scheme: {
    type: "custom",
    description: "x-ebay-signature: base64 of {alg, kid, signature, digest}, ECDSA P-256 with SHA-1 over {body}",
    covers: { body: true },
    signsTime: false,
    create: ebayScheme,
  },
  secrets: {
    signing: "public-key",
    others: ["VerifyToken"],
    description:
      "key of getPublicKey (Notification API) with its kid as keyId; as use VerifyToken the verification token typed in at eBay",
  },
  toleranceMs: 0,
  dedupe: [{ from: "json", pointer: "/notification/notificationId", signed: true }],
  withoutId: "Signature",
  retryWindowMs: 3 * 86_400_000,
  ackBudgetMs: 3_000,
  ack: { status: 204 },
  payload: { format: "Any", requiredFields: [], eventTypeFrom: "json:/metadata/topic" },
  statusOverrides: {},
  handshakes: [ebayChallengeCode],
  showHeaders: [],
  parameters: [],
  behaviour: {
    retries: "several times; publishAttemptCount in the body grows and each body is signed anew",
    danger: "24 hours without an answer mark the endpoint as down, and the keyset may be switched off",
    note: "Davit does not fetch eBay's public keys (their API wants OAuth): put a new one into the Secret when signatures stop matching. publicUrl must be the endpoint as typed in at eBay",
  },
  sample: {
    body: '{"metadata":{"topic":"MARKETPLACE_ACCOUNT_DELETION","schemaVersion":"1.0","deprecated":false},"notification":{"notificationId":"$id","eventDate":"$nowIso","publishDate":"$nowIso","publishAttemptCount":1,"data":{"username":"test_user","userId":"ma8vp1jySJC"}}}',
  },
  documentation: "https://developer.ebay.com/api-docs/commerce/notification/overview.html",
};
