import type { Handshake } from "./handshake.ts";
import { keyedAnswer } from "./keyed-answer.ts";
import { queryValues, wellFormed } from "./said.ts";

/** Letters and digits as X sends them, possibly with the padding of base64. It cannot begin like a JSON object, and no other body is taken for an event. */
const CRC_TOKEN = /^[A-Za-z0-9_-]{1,128}={0,2}$/;

/**
 * X (Twitter): the challenge-response check, at registration and hourly. The answer is an HMAC with the key that also signs events, over their bodies: only
 * the form of the token keeps it from being the signature of one.
 */
export const xCrc: Handshake = {
  name: "crc",
  method: "GET",
  signed: false,
  recognises: (request) => queryValues(request, "crc_token").length > 0,
  answer: (context) =>
    keyedAnswer(
      context,
      wellFormed(queryValues(context.request, "crc_token"), CRC_TOKEN, "query parameter crc_token"),
      (digest) => ({ response_token: `sha256=${digest.toString("base64")}` }),
    ),
};
