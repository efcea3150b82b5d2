import type { KeyObject } from "node:crypto";
import type { VerificationKey } from "./types.ts";

/**
 * Public material that lies at the provider. Verification only says what it needs, from a host that the preset pins; fetching (through the SSRF guard), checking
 * a certificate's chain and caching are the gateway's.
 */
export interface MaterialRequest {
  readonly kind: "certificate" | "jwk";
  /** `https:` URL on a host of the provider. */
  readonly url: string;
  /** Names what is wanted, for the cache and for errors: URL, or URL and key id. No secret in it. */
  readonly id: string;
  /** Names one of which a certificate must bear: exact, or `*.example.com`. */
  readonly certificateNames?: readonly string[];
  /** JSON body of a POST, made with the route's `ApiCredential` keys. Absent: a GET. */
  readonly body?: (credentials: readonly VerificationKey[]) => unknown;
  /** Where in the answer's JSON the JWK stands, as a JSON pointer. */
  readonly jwkAt?: string;
  /** Where in the answer's JSON the time stands after which the key is no good any more (Unix seconds; null or absent: it still is), as a JSON pointer: `notAfter` of the {@link Material}. */
  readonly expiredAt?: string;
}

/** A public key that was fetched for a {@link MaterialRequest} and may be trusted. */
export interface Material {
  /** `id` of the request it answers. */
  readonly id: string;
  readonly publicKey: KeyObject;
  /** Unix ms from and until which it may be used. */
  readonly notBefore?: number;
  readonly notAfter?: number;
}
