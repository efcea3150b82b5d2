import type { VerifierOptions } from "../config.ts";
import type { Verifier } from "../types.ts";

/** What a signature covers: only that can be believed. Header names are in lower case. */
export interface Coverage {
  readonly body: boolean;
  readonly headers: readonly string[];
  /** JSON pointers of fields that are covered although the body as a whole is not. */
  readonly fields?: readonly string[];
}

/** A scheme for people, in words that fit into a table. */
export interface SchemeDescription {
  /** Where the signature or secret stands: a header as `x-signature`, or `query token`, `body`. */
  readonly place: string;
  /** For example `HMAC-SHA256, hex`. */
  readonly algorithm: string;
  /** What is signed: a template, or words. `nothing` for a token. */
  readonly content: string;
}

/** Everything that Davit knows of one kind of scheme: how a verifier is made of its settings, and what they mean. */
export interface SchemeKind<C> {
  /** @throws VerificationConfigError when the settings contradict each other */
  create(config: C, options: VerifierOptions): Verifier;
  /** @param idHeader the header that `{id}` stands for where the settings do not say */
  covers(config: C, idHeader?: string): Coverage;
  /** Whether a signed timestamp is held against the tolerance, or would be if there were one. */
  signsTime(config: C): boolean;
  /** Whether the signature covers the URL that is set up at the sender, so that a route must say it exactly (`publicUrl`). The path alone is no such thing. */
  signsUrl(config: C): boolean;
  /** Whether the `keyId` of a key is ever looked at. What a provider's own function looks at is not known: it counts as yes. */
  readsKeyIds(config: C): boolean;
  describe(config: C): SchemeDescription;
}

/** Neither the URL is signed, nor does the sender name its key. */
export const PLAIN = { signsUrl: () => false, readsKeyIds: () => false } as const;

/** A secret that is sent as it is covers nothing. */
export const SENT_AS_IT_IS = {
  ...PLAIN,
  covers: (): Coverage => ({ body: false, headers: [] }),
  signsTime: () => false,
} as const;
