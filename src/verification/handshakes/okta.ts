import { jsonOf } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { wellFormed } from "./said.ts";

const HEADER = "x-okta-verification-challenge";

/** Okta: asked once when an event hook is verified; it sends the hook's secret with it, as with every event. */
export const oktaVerificationChallenge: Handshake = {
  name: HEADER,
  method: "GET",
  signed: true,
  recognises: (request) => request.header(HEADER).length > 0,
  answer: ({ request }) =>
    jsonOf(wellFormed(request.header(HEADER), ECHO_FORM, `header ${HEADER}`), (verification) => ({ verification })),
};
