import type { Refusal } from "../refusal.ts";
import type { SignedRequest } from "../types.ts";
import type { Handshake, HandshakeAnswer, HandshakeContext } from "./handshake.ts";

/** Longest body of a handshake, bytes; they have some hundred. A longer one is not parsed for a request that nobody has verified yet. */
const MAX_BODY_BYTES = 16_384;

/**
 * The handshake that a request is, if it is one: the first of the list that takes its method and recognises it. `undefined`: an event, or nothing at all.
 * Asked before dedupe and before the payload's checks; a handshake with `signed` is verified first, exactly as an event is.
 */
export function findHandshake(handshakes: readonly Handshake[], request: SignedRequest): Handshake | undefined {
  if (request.body.length > MAX_BODY_BYTES) return undefined;
  return handshakes.find((handshake) => handshake.method === request.method && handshake.recognises(request));
}

/** Methods that a route takes for its handshakes besides those for events; each once. */
export function handshakeMethods(handshakes: readonly Handshake[]): readonly Handshake["method"][] {
  return [...new Set(handshakes.map(({ method }) => method))];
}

/**
 * Asks a handshake for its answer.
 *
 * @param matchedKeyId `id` of the key in the verdict: it comes first, since a provider that signed with one secret expects the answer to be made with the same.
 */
export function answerHandshake(
  handshake: Handshake,
  context: HandshakeContext,
  matchedKeyId?: string,
): HandshakeAnswer | Refusal {
  return handshake.answer({ ...context, signing: matchedFirst(context.signing, matchedKeyId) });
}

/** Whether a handshake was refused rather than answered. */
export function isRefusal(result: HandshakeAnswer | Refusal): result is Refusal {
  return "ok" in result;
}

/**
 * The headers of an answer, lower case: `Content-Type` exactly as the handshake says (all bodies are ASCII), `nosniff` so that no browser takes an echo for a
 * page, `no-store`, and the length (Nylas takes no chunked answer), which a 204 must not have (RFC 9110 §8.6).
 */
export function answerHeaders(answer: HandshakeAnswer): Readonly<Record<string, string>> {
  return {
    ...(answer.contentType !== undefined && { "content-type": answer.contentType }),
    ...(answer.status !== 204 && { "content-length": String(Buffer.byteLength(answer.body)) }),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...answer.headers,
  };
}

function matchedFirst(keys: HandshakeContext["signing"], id: string | undefined): HandshakeContext["signing"] {
  const matched = keys.filter((key) => key.id === id);
  return matched.length === 0 ? keys : [...matched, ...keys.filter((key) => key.id !== id)];
}
