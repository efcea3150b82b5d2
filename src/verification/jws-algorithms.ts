import { type KeyObject, verify } from "node:crypto";
import { equals } from "../lib/equals.ts";
import { HmacKey } from "../lib/hmac.ts";
import type { Secret } from "../lib/secret.ts";
import { hmacKeyOf } from "./hmac-keys.ts";
import type { Jws, JwsAlgorithm } from "./jws.ts";
import { isKeyOfType, readPublicKey, type PublicKeyType } from "./public-keys.ts";

/** A key of a JWS: HS256 has an HMAC key and nothing else, the others a public key and nothing else. */
export type JwsKey = HmacKey | KeyObject;

const PUBLIC_KEYS: Readonly<Record<Exclude<JwsAlgorithm, "HS256">, PublicKeyType>> = { ES256: "p256", RS256: "rsa" };

/** What a Secret's value becomes: for HS256 the key as it is, otherwise a public key as PEM or JWK. `undefined` when it is no key of the algorithm. */
export function jwsKeyOf(algorithm: JwsAlgorithm, secret: Secret): JwsKey | undefined {
  if (algorithm === "HS256") return hmacKeyOf("sha256", secret);
  const value = secret.reveal();
  const key = readPublicKey(value, value[0] === 0x7b ? "jwk" : "pem");
  return key && fitsJws(algorithm, key) ? key : undefined;
}

/** Whether a public key is one of the algorithm. */
export function fitsJws(algorithm: JwsAlgorithm, key: KeyObject): boolean {
  return algorithm !== "HS256" && isKeyOfType(key, PUBLIC_KEYS[algorithm]);
}

/** Whether the signature is right under this key. A key of another kind never fits. */
export function verifyJws(algorithm: JwsAlgorithm, key: JwsKey, { signingInput, signature }: Jws): boolean {
  if (key instanceof HmacKey) {
    return algorithm === "HS256" && equals(signature, key.digest([signingInput]));
  }
  if (!fitsJws(algorithm, key)) return false;
  // Of ES256 the signature is r and s, 32 bytes each (RFC 7518 §3.4), and not DER.
  if (algorithm === "ES256") {
    return signature.length === 64 && verify("sha256", signingInput, { key, dsaEncoding: "ieee-p1363" }, signature);
  }
  return verify("sha256", signingInput, key, signature);
}
