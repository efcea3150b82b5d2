import { jsonOf } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, hasField, wellFormed } from "./said.ts";

/** monday.com: a new webhook posts a challenge, unsigned, and wants it back. What happened on a board stands in `event`. */
export const mondayChallenge: Handshake = {
  name: "challenge",
  method: "POST",
  signed: false,
  recognises: (request) => typeof bodyField(request, "challenge") === "string" && !hasField(request, "event"),
  answer: ({ request }) =>
    jsonOf(wellFormed([bodyField(request, "challenge")], ECHO_FORM, "field challenge of the body"), (challenge) => ({
      challenge,
    })),
};
