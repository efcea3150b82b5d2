import { hash } from "node:crypto";
import { NO_USABLE_KEY } from "../refusal.ts";
import { jsonOf } from "./answers.ts";
import { HASHED_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { queryValues, wellFormed } from "./said.ts";

/**
 * eBay: SHA-256 over challenge, verification token and the endpoint as typed in at eBay, which is the route's `publicUrl`. Events are signed by eBay's own key.
 */
export const ebayChallengeCode: Handshake = {
  name: "challenge_code",
  method: "GET",
  signed: false,
  recognises: (request) => queryValues(request, "challenge_code").length > 0,
  answer: (context) => {
    // Never a key with use `Signing`: that is eBay's public one, and whoever knows it could answer as well.
    const { request, verifyTokens } = context;
    const [token] = verifyTokens;
    if (!token) return NO_USABLE_KEY;
    const code = wellFormed(queryValues(request, "challenge_code"), HASHED_FORM, "query parameter challenge_code");
    return jsonOf(code, (text) => ({
      challengeResponse: hash(
        "sha256",
        Buffer.concat([Buffer.from(text), token.secret.reveal(), Buffer.from(endpointOf(request))]),
        "hex",
      ),
    }));
  },
};

/** The route's public URL without the query that eBay added. */
function endpointOf({ url, path }: { readonly url: string; readonly path: string }): string {
  const query = path.slice(path.indexOf("?"));
  return url.endsWith(query) ? url.slice(0, -query.length) : url;
}
