import { plain } from "./answers.ts";
import { SENTENCE_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { hasField, queryValues, wellFormed } from "./said.ts";

/** Microsoft Graph (`validationToken`) and SharePoint (`validationtoken`): a new subscription wants the decoded token back. Notifications are in `value`. */
export const graphValidationToken: Handshake = {
  name: "validationToken",
  method: "POST",
  signed: false,
  recognises: (request) => !hasField(request, "value") && tokens(request).length > 0,
  answer: ({ request }) => plain(wellFormed(tokens(request), SENTENCE_FORM, "query parameter validationToken")),
};

function tokens(request: Parameters<Handshake["recognises"]>[0]): readonly string[] {
  return ["validationToken", "validationtoken"].flatMap((name) => queryValues(request, name));
}
