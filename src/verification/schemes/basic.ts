import { isBlank } from "../../lib/secret.ts";
import { keyRingCache, usableAt } from "../keys.ts";
import { NO_USABLE_KEY, refuse } from "../refusal.ts";
import { signerOf } from "../signer.ts";
import type { Verifier } from "../types.ts";
import { SENT_AS_IT_IS, type SchemeKind } from "./scheme-kind.ts";

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * Basic authentication (RFC 7617). A key's secret is `username:password` in UTF-8; only the first colon separates, so a password may hold more
 * of them. Missing credentials are 401 and not 400: a client may wait for the challenge before it sends them (RFC 9110 §11.6.1).
 */
export const basicKind: SchemeKind<unknown> = {
  create: basicScheme,
  ...SENT_AS_IT_IS,
  describe: () => ({ place: "authorization", algorithm: "Basic", content: "nothing" }),
};

/** Both sides must be there: an empty password is one that anybody knows. */
function isPair(bytes: Buffer): boolean {
  const colon = bytes.indexOf(0x3a);
  return colon > 0 && !isBlank(bytes.subarray(0, colon)) && !isBlank(bytes.subarray(colon + 1));
}

function basicScheme(): Verifier {
  const ring = keyRingCache((secret) => (isPair(secret.reveal()) ? secret : undefined));
  return {
    secretHeaders: ["authorization"],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const values = request.header("authorization");
      const encoded = values.length === 1 ? BASIC.exec(values[0] ?? "")?.[1] : undefined;
      if (encoded === undefined) {
        return refuse("CredentialsMismatch", "authorization is not one value of the form: Basic <base64>");
      }
      const sent = Buffer.from(encoded, "base64");
      const match = usable.find(({ material }) => material.equals(sent));
      if (match) return { ok: true, key: match.key };
      return refuse("CredentialsMismatch", `authorization matches none of ${usable.length} pair(s) of credentials`);
    },
    sign(input, keys, now) {
      const signer = signerOf(ring(keys), now);
      const credentials = signer.material.reveal().toString("base64");
      return { headers: { ...input.headers, authorization: `Basic ${credentials}` } };
    },
  };
}
