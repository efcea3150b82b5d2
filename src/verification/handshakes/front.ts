import { plain } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, wellFormed } from "./said.ts";

const HEADER = "x-front-challenge";

/** Front: when the webhook of an app is saved. Signed like an event; its type is `sync`. */
export const frontChallenge: Handshake = {
  name: HEADER,
  method: "POST",
  signed: true,
  recognises: (request) => request.header(HEADER).length > 0 && bodyField(request, "type") === "sync",
  answer: ({ request }) => plain(wellFormed(request.header(HEADER), ECHO_FORM, `header ${HEADER}`)),
};
