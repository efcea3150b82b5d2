import type { QueryTokenConfig } from "../config.ts";
import { keyRingCache, usableAt } from "../keys.ts";
import { NO_USABLE_KEY, refuse } from "../refusal.ts";
import { signerOf } from "../signer.ts";
import type { Verifier } from "../types.ts";
import { SENT_AS_IT_IS, type SchemeKind } from "./scheme-kind.ts";

/** A secret in the URL's query, exactly once. It proves nothing about the body, and proxies write URLs into their logs. */
export const queryTokenKind: SchemeKind<QueryTokenConfig> = {
  create: queryTokenScheme,
  ...SENT_AS_IT_IS,
  describe: ({ parameter }) => ({ place: `query parameter ${parameter}`, algorithm: "token", content: "nothing" }),
};

function queryTokenScheme({ parameter }: QueryTokenConfig): Verifier {
  const ring = keyRingCache((secret) => secret);
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const values = new URLSearchParams(queryOf(request.path)).getAll(parameter);
      const [value = ""] = values;
      if (values.length > 1) {
        return refuse("SignatureMalformed", `query parameter ${parameter} was sent ${values.length} times`);
      }
      if (value === "") return refuse("SignatureMissing", `query parameter ${parameter} is missing or empty`);
      const sent = Buffer.from(value, "utf8");
      const match = usable.find(({ material }) => material.equals(sent));
      if (match) return { ok: true, key: match.key };
      return refuse("TokenMismatch", `query parameter ${parameter} matches none of ${usable.length} key(s)`);
    },
    sign(input, keys, now) {
      const signer = signerOf(ring(keys), now);
      const query = new URLSearchParams(queryOf(input.path));
      query.set(parameter, signer.material.reveal().toString("utf8"));
      return { headers: { ...input.headers }, query: `?${query.toString()}` };
    },
  };
}

function queryOf(path: string): string {
  const at = path.indexOf("?");
  return at === -1 ? "" : path.slice(at + 1);
}
