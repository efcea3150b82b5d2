import { OK } from "./answers.ts";
import { keepFirst } from "./first-use.ts";
import { HANDED_OVER_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, hasField, wellFormed } from "./said.ts";

/**
 * Notion: the token of a new subscription arrives unsigned; its owner copies it into Notion's settings, and it is the key of all later signatures. Events have
 * a `type`.
 */
export const notionVerificationToken: Handshake = {
  name: "verification_token",
  method: "POST",
  signed: false,
  recognises: (request) => hasField(request, "verification_token") && !hasField(request, "type"),
  answer: (context) => {
    const token = bodyField(context.request, "verification_token");
    const action = keepFirst(
      context,
      "verification-token",
      wellFormed([token], HANDED_OVER_FORM, "field verification_token of the body"),
    );
    return "ok" in action ? action : { ...OK, action };
  },
};
