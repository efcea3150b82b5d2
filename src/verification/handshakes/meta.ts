import { refuse } from "../refusal.ts";
import { plain } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { queryValues, wellFormed } from "./said.ts";
import { checkVerifyToken } from "./verify-token.ts";

/** Meta (Facebook, WhatsApp, Instagram): the verify token typed in at Meta must be the route's; a wrong one is answered with 403. */
export const metaHubChallenge: Handshake = {
  name: "hub.challenge",
  method: "GET",
  signed: false,
  recognises: (request) =>
    ["hub.mode", "hub.verify_token", "hub.challenge"].some((name) => queryValues(request, name).length > 0),
  answer: (context) => {
    const { request } = context;
    const refused = checkVerifyToken(
      context,
      queryValues(request, "hub.verify_token"),
      "query parameter hub.verify_token",
    );
    if (refused) return refused;
    const mode = queryValues(request, "hub.mode");
    if (mode.length !== 1 || mode[0] !== "subscribe")
      return refuse("ChallengeMalformed", "query parameter hub.mode must be subscribe");
    return plain(wellFormed(queryValues(request, "hub.challenge"), ECHO_FORM, "query parameter hub.challenge"));
  },
};
