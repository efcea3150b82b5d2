import type { TokenConfig } from "../config.ts";
import { keyRingCache, usableAt } from "../keys.ts";
import { NO_USABLE_KEY, refuse, singleHeader } from "../refusal.ts";
import { signerOf } from "../signer.ts";
import type { Verifier } from "../types.ts";
import { SENT_AS_IT_IS, type SchemeKind } from "./scheme-kind.ts";

/** A secret that the sender repeats in a header, as GitLab's `X-Gitlab-Token`. It proves nothing about the body. */
export const tokenKind: SchemeKind<TokenConfig> = {
  create: tokenScheme,
  ...SENT_AS_IT_IS,
  describe: ({ header }) => ({ place: header.toLowerCase(), algorithm: "token", content: "nothing" }),
};

function tokenScheme(config: TokenConfig): Verifier {
  const header = config.header.toLowerCase();
  const ring = keyRingCache((secret) => secret);
  return {
    secretHeaders: [header],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const value = singleHeader(request, header, "SignatureMalformed");
      if (typeof value !== "string") return value;
      if (!value.startsWith(config.prefix)) {
        return refuse("SignatureMalformed", `${header} does not begin with "${config.prefix}"`);
      }
      const sent = Buffer.from(value.slice(config.prefix.length), "latin1");
      const match = usable.find(({ material }) => material.equals(sent));
      if (match) return { ok: true, key: match.key };
      return refuse("TokenMismatch", `${header} matches none of ${usable.length} key(s)`);
    },
    sign(input, keys, now) {
      const signer = signerOf(ring(keys), now);
      return { headers: { ...input.headers, [header]: config.prefix + signer.material.reveal().toString("latin1") } };
    },
  };
}
