import { plain } from "./answers.ts";
import { ECHO_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, wellFormed } from "./said.ts";

/** Slack: the URL of an app is checked with a signed request of its own type; events come wrapped in one of type `event_callback`. */
export const slackUrlVerification: Handshake = {
  name: "url_verification",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "type") === "url_verification",
  answer: ({ request }) =>
    plain(wellFormed([bodyField(request, "challenge")], ECHO_FORM, "field challenge of the body")),
};
