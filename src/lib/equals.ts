import { timingSafeEqual } from "node:crypto";

/**
 * Compares secrets or signatures in constant time. The only place in Davit that does: a lint rule refuses `timingSafeEqual` elsewhere.
 * Values of different length are unequal; their length is not secret (a digest's is fixed by its algorithm).
 */
export function equals(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}
