import type { Secret } from "../../lib/secret.ts";
import type { Refusal } from "../refusal.ts";
import type { SignedRequest, VerificationKey } from "../types.ts";

/** What a handshake may know of its route. */
export interface HandshakeContext {
  readonly request: SignedRequest;
  /** Usable keys with use `Signing`; the one that the request verified with comes first. */
  readonly signing: readonly VerificationKey[];
  /** Usable keys with use `VerifyToken`. */
  readonly verifyTokens: readonly VerificationKey[];
  /** The route has keys with use `VerifyToken`, usable or not. Absent: as {@link verifyTokens} says. */
  readonly hasVerifyTokens?: boolean;
  readonly parameters: Readonly<Record<string, string>>;
}

/** What the gateway does before the answer goes out; if it fails, the answer is 503 and the provider asks again. */
export type HandshakeAction =
  /** GET a URL of the provider, through the SSRF guard. `id` names it in logs, without the token in its query. */
  | { readonly type: "confirm"; readonly url: string; readonly id: string }
  /** Keep a secret that the provider hands over for the operator to read and put into the route's Secret. */
  | { readonly type: "keep"; readonly kind: "verification-token" | "hook-secret"; readonly value: Secret };

/** The answer to a handshake. Nothing is enqueued. */
export interface HandshakeAnswer {
  readonly status: 200 | 204;
  /** What comes from the request is sent as `text/plain` or as a JSON string, with `X-Content-Type-Options: nosniff`, never as HTML. */
  readonly contentType?: "text/plain" | "application/json";
  /** Further headers, lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** ASCII. */
  readonly body: string;
  readonly action?: HandshakeAction;
  /** One line for an operator, without values: the provider ended something. To be logged as a warning. */
  readonly notice?: string;
}

/**
 * A request that is no event: a provider asking whether somebody is there, or whether it is the right one. Handled before dedupe; pure.
 * Where an answer is computed with a secret from what the sender chose, it must not be a signature of anything the sender could post as an event.
 */
export interface Handshake {
  /** As the provider's document calls it, for example `url_verification`. */
  readonly name: string;
  readonly method: "GET" | "HEAD" | "POST";
  /** The route's signature must match before {@link answer} is asked. */
  readonly signed: boolean;
  /** Whether a request of this method is this handshake and no event. Must not throw, whatever it is given. */
  recognises(request: SignedRequest): boolean;
  answer(context: HandshakeContext): HandshakeAnswer | Refusal;
}
