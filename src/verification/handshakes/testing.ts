import { keysOf, plainRequest } from "../vectors.ts";
import type { SignedRequest } from "../types.ts";
import type { Handshake, HandshakeContext } from "./handshake.ts";
import { asanaHeartbeat, asanaHookSecret } from "./asana.ts";
import { discordEventsPing, discordPing } from "./discord.ts";
import { ebayChallengeCode } from "./ebay.ts";
import { eventGridValidation } from "./event-grid.ts";
import { frontChallenge } from "./front.ts";
import { graphValidationToken } from "./graph.ts";
import { linkedinChallengeCode } from "./linkedin.ts";
import { metaHubChallenge } from "./meta.ts";
import { mondayChallenge } from "./monday.ts";
import { notionVerificationToken } from "./notion.ts";
import { oktaVerificationChallenge } from "./okta.ts";
import { emptyPost, getPresence, headPresence } from "./presence.ts";
import { queryChallenge } from "./query-challenge.ts";
import { slackUrlVerification } from "./slack.ts";
import { snsSubscriptionConfirmation, snsUnsubscribeConfirmation } from "./sns.ts";
import { twitchRevocation, twitchVerification } from "./twitch.ts";
import { wooCommercePing } from "./woocommerce.ts";
import { xCrc } from "./x.ts";
import { xeroIntentToReceive } from "./xero.ts";
import { zoomUrlValidation } from "./zoom.ts";

/** Every handshake there is, for tests that hold for all of them. */
export const ALL_HANDSHAKES: readonly Handshake[] = [
  asanaHeartbeat,
  asanaHookSecret,
  discordEventsPing,
  discordPing,
  ebayChallengeCode,
  emptyPost,
  eventGridValidation,
  frontChallenge,
  getPresence,
  graphValidationToken,
  headPresence,
  linkedinChallengeCode,
  metaHubChallenge,
  mondayChallenge,
  notionVerificationToken,
  oktaVerificationChallenge,
  queryChallenge,
  slackUrlVerification,
  snsSubscriptionConfirmation,
  snsUnsubscribeConfirmation,
  twitchRevocation,
  twitchVerification,
  wooCommercePing,
  xCrc,
  xeroIntentToReceive,
  zoomUrlValidation,
];

/** A request in few words. `body`: an object is sent as JSON. */
export function asked(parts: {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer | object;
}): SignedRequest {
  const { method = "POST", path = "/hook", headers = {}, body = "" } = parts;
  const query = path.indexOf("?");
  const raw = typeof body === "object" && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
  return plainRequest({
    method,
    url: `https://hooks.example.com/hook${query === -1 ? "" : path.slice(query)}`,
    path,
    headers,
    body: Buffer.isBuffer(raw) ? raw : Buffer.from(raw),
  });
}

/** What a handshake may know in tests: keys made of these secrets. */
export function knowing(
  request: SignedRequest,
  secrets: {
    readonly signing?: readonly string[];
    readonly verify?: readonly string[];
    readonly parameters?: Readonly<Record<string, string>>;
  } = {},
): HandshakeContext {
  return {
    request,
    signing: keysOf(secrets.signing ?? []),
    verifyTokens: keysOf(secrets.verify ?? []),
    parameters: secrets.parameters ?? {},
  };
}
