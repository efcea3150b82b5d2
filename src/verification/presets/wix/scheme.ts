import { hash, type KeyObject } from "node:crypto";
import { VerificationConfigError, type VerifierOptions } from "../../config.ts";
import { checkTimes } from "../../jws-claims.ts";
import { jwsKeyOf, verifyJws } from "../../jws-algorithms.ts";
import { parseJws } from "../../jws.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse } from "../../refusal.ts";
import type { Verifier } from "../../types.ts";

/** The gateway's own limit on bodies is lower or higher as the route says; tokens beyond this are none of Wix's. */
const MAX_CHARACTERS = 1_048_576;

/** Wix: the whole body is a JSON Web Token with RS256, good until its `exp`. */
export function wixScheme({ toleranceMs = 0 }: VerifierOptions): Verifier {
  const ring = keyRingCache((secret) => jwsKeyOf("RS256", secret) as KeyObject | undefined);
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      if (request.body.length === 0)
        return refuse("SignatureMissing", "the body is empty, it should be a JSON Web Token");
      const jws = parseJws(request.body.toString("latin1"), "RS256", "the body", MAX_CHARACTERS);
      if ("ok" in jws) return jws;
      const match = usable.find(({ material }) => verifyJws("RS256", material, jws));
      if (!match)
        return refuse("SignatureMismatch", `the token in the body matches none of ${usable.length} public key(s)`);
      const times = checkTimes(jws.claims, "exp", now, toleranceMs);
      if ("ok" in times) return times;
      return { ok: true, key: match.key, signature: hash("sha256", jws.signingInput, "base64url") };
    },
    sign() {
      throw new VerificationConfigError("CannotSign", "only Wix has the private key");
    },
  };
}
