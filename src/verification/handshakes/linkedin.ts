import { HASHED_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { keyedAnswer } from "./keyed-answer.ts";
import { queryValues, wellFormed } from "./said.ts";

/**
 * LinkedIn: at registration and every 2 hours; three failures block the endpoint. The challenge is a UUID; what is signed for an event begins with
 * `hmacsha256=`, whose last character no challenge may have, so that the answer is never the signature of one.
 */
export const linkedinChallengeCode: Handshake = {
  name: "challengeCode",
  method: "GET",
  signed: false,
  recognises: (request) => queryValues(request, "challengeCode").length > 0,
  answer: (context) =>
    keyedAnswer(
      context,
      wellFormed(queryValues(context.request, "challengeCode"), HASHED_FORM, "query parameter challengeCode"),
      (digest, challengeCode) => ({ challengeCode, challengeResponse: digest.toString("hex") }),
    ),
};
