import type { Secret } from "../../lib/secret.ts";
import type { Content } from "../config.ts";

/** How signatures are checked, apart from where they stand and what they cover. */
export interface SignatureAlgorithm<M> {
  /** As people write it, for example `HMAC-SHA256`. */
  readonly name: string;
  /** Length of a signature in bytes, or the greatest length where it differs. */
  readonly bytes: number;
  readonly fixedLength: boolean;
  /** More signatures than this in one request are refused: checking one with a public key costs 30 to 100 µs. */
  readonly maxSignatures: number;
  /** What a Secret's value becomes; `undefined` when it is no key of this algorithm. */
  prepare(secret: Secret): M | undefined;
  /**
   * Whether one of the signatures is right.
   *
   * @returns one canonical value for this content under this key, which nobody can vary
   */
  match(material: M, content: Content, signatures: readonly Buffer[]): Buffer | undefined;
  /** @throws VerificationConfigError `CannotSign` when the key can only verify */
  sign(material: M, content: Content): Buffer;
}
