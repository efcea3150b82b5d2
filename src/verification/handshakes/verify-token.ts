import { NO_USABLE_KEY, refuse, type Refusal } from "../refusal.ts";
import type { VerificationKey } from "../types.ts";
import type { HandshakeContext } from "./handshake.ts";

/** Keys with use `VerifyToken`, or those with use `Signing` where a route has one secret for both. */
export function tokensOf({
  verifyTokens,
  signing,
}: Pick<HandshakeContext, "verifyTokens" | "signing">): readonly VerificationKey[] {
  return verifyTokens.length > 0 ? verifyTokens : signing;
}

/**
 * Holds what the request says against every verify token, in constant time.
 *
 * @returns `undefined` when it is one of them
 */
export function checkVerifyToken(
  context: Pick<HandshakeContext, "verifyTokens" | "signing">,
  said: readonly string[],
  what: string,
): Refusal | undefined {
  const tokens = tokensOf(context);
  if (tokens.length === 0) return NO_USABLE_KEY;
  const value = said.length === 1 ? Buffer.from(said[0] ?? "", "utf8") : undefined;
  if (value && tokens.some(({ secret }) => secret.equals(value))) return undefined;
  return refuse("VerifyTokenMismatch", `${what} is none of the route's verify tokens`);
}
