import type { SignedContent } from "./config.ts";
import { refuse } from "./refusal.ts";

/**
 * The body, which must begin like a JSON object. For providers whose handshake answers with an HMAC under the key of their events (X, LinkedIn): a body of
 * another form could be a challenge that somebody had signed.
 *
 * @param prefix text before the body in the signed content
 */
export function objectBody(prefix = ""): SignedContent {
  return {
    contents: ({ body }) =>
      body[0] === 0x7b
        ? [[prefix, body]]
        : refuse("SignatureMismatch", "the body is no JSON object, and nothing else is signed by this provider"),
    description: `${prefix}{body}, a JSON object`,
  };
}
