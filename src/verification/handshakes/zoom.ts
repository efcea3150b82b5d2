import { valueAt } from "../../lib/json-source.ts";
import { HASHED_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { keyedAnswer } from "./keyed-answer.ts";
import { bodyField, wellFormed } from "./said.ts";

/**
 * Zoom: when an endpoint is entered and every 72 hours after. Signed like an event, and the answer is no signature of one: that is made over
 * `v0:timestamp:body`, and a token has no colon.
 */
export const zoomUrlValidation: Handshake = {
  name: "endpoint.url_validation",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "event") === "endpoint.url_validation",
  answer: (context) => {
    const token = valueAt(bodyField(context.request, "payload"), ["plainToken"]);
    return keyedAnswer(
      context,
      wellFormed([token], HASHED_FORM, "field payload.plainToken of the body"),
      (digest, plainToken) => ({ plainToken, encryptedToken: digest.toString("hex") }),
    );
  },
};
