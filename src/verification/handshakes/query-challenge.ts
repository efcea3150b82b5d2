import { plain } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { queryValues, wellFormed } from "./said.ts";

/** Dropbox and Nylas: `GET ?challenge=…`, answered with nothing but the challenge, as plain text. */
export const queryChallenge: Handshake = {
  name: "challenge",
  method: "GET",
  signed: false,
  recognises: (request) => queryValues(request, "challenge").length > 0,
  answer: ({ request }) => plain(wellFormed(queryValues(request, "challenge"), ECHO_FORM, "query parameter challenge")),
};
