import { HmacKey } from "../../lib/hmac.ts";
import { NO_USABLE_KEY, type Refusal } from "../refusal.ts";
import { jsonOf } from "./answers.ts";
import type { HandshakeAnswer, HandshakeContext } from "./handshake.ts";

/**
 * A JSON answer made of the HMAC-SHA256 of a challenge, with the first signing key. The challenge must be of a form that no event's signed content can have
 * (`form.ts`): who may choose it freely could have events signed.
 */
export function keyedAnswer(
  { signing }: Pick<HandshakeContext, "signing">,
  challenge: string | Refusal,
  fields: (digest: Buffer, challenge: string) => Readonly<Record<string, string>>,
): HandshakeAnswer | Refusal {
  const key = signing[0];
  if (!key) return NO_USABLE_KEY;
  return jsonOf(challenge, (text) => fields(new HmacKey("sha256", key.secret.reveal()).digest([text]), text));
}
