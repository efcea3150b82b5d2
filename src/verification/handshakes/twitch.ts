import { OK, plain } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, hasField, headerIs, wellFormed } from "./said.ts";

const TYPE_HEADER = "twitch-eventsub-message-type";

/** Twitch EventSub: a new subscription. The header with the type is not signed, so that the body decides: an event is never taken for one. */
export const twitchVerification: Handshake = {
  name: "webhook_callback_verification",
  method: "POST",
  signed: true,
  recognises: (request) =>
    headerIs(request, TYPE_HEADER, "webhook_callback_verification") &&
    hasField(request, "challenge") &&
    !hasField(request, "event"),
  answer: ({ request }) =>
    plain(wellFormed([bodyField(request, "challenge")], ECHO_FORM, "field challenge of the body")),
};

/** Twitch EventSub: the subscription was ended, by its user or after too many failures. */
export const twitchRevocation: Handshake = {
  name: "revocation",
  method: "POST",
  signed: true,
  recognises: (request) =>
    headerIs(request, TYPE_HEADER, "revocation") && hasField(request, "subscription") && !hasField(request, "event"),
  answer: () => ({ ...OK, notice: "Twitch revoked a subscription of this route: nothing more arrives for it" }),
};
