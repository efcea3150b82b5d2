import { NO_USABLE_KEY, refuse, type Refusal } from "../refusal.ts";
import type { HandshakeContext } from "./handshake.ts";

/** As much of a route as has to do with verify tokens. */
type Tokens = Pick<HandshakeContext, "verifyTokens" | "hasVerifyTokens" | "signing">;

/** Keys with use `VerifyToken`, or those with use `Signing` where a route has one secret for both. Tokens that are past their time do not make it such a route. */
function tokensOf({ verifyTokens, hasVerifyTokens = verifyTokens.length > 0, signing }: Tokens) {
  return hasVerifyTokens ? verifyTokens : signing;
}

/**
 * Holds what the request says against every verify token, in constant time.
 *
 * @returns `undefined` when it is one of them
 */
export function checkVerifyToken(context: Tokens, said: readonly string[], what: string): Refusal | undefined {
  const tokens = tokensOf(context);
  if (tokens.length === 0) return NO_USABLE_KEY;
  const value = said.length === 1 ? Buffer.from(said[0] ?? "", "utf8") : undefined;
  if (value && tokens.some(({ secret }) => secret.equals(value))) return undefined;
  return refuse("VerifyTokenMismatch", `${what} is none of the route's verify tokens`);
}
