import type { Secret } from "../../lib/secret.ts";
import type { Content } from "../config.ts";

/**
 * How signatures are checked, apart from where they stand and what they cover. `M` is what a key becomes, `S` a signature in the form in which it is compared
 * or verified.
 */
export interface SignatureAlgorithm<M, S> {
  /** As people write it, for example `HMAC-SHA256`. */
  readonly name: string;
  /** What a signature looks like, for errors: `32 bytes in hex`. */
  readonly form: string;
  /** More signatures than this in one request are refused: checking one with a public key costs 30 to 100 µs. */
  readonly maxSignatures: number;
  /** What a Secret's value becomes; `undefined` when it is no key of this algorithm. */
  prepare(secret: Secret): M | undefined;
  /** A signature as it was sent; `undefined` when it cannot be one. May leave the close look to {@link isWritten}. */
  read(text: string): S | undefined;
  /** Whether a signature that did not match is at least written as one. */
  isWritten(signature: S): boolean;
  /**
   * Whether one of the signatures is right.
   *
   * @returns one canonical text for this content under this key, which nobody can vary
   */
  match(material: M, content: Content, signatures: readonly S[]): string | undefined;
  /** @throws VerificationConfigError `CannotSign` when the key can only verify */
  sign(material: M, content: Content): string;
}
