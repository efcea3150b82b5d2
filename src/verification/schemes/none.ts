import type { Verifier } from "../types.ts";
import { SENT_AS_IT_IS, type SchemeKind } from "./scheme-kind.ts";

/** No verification: written out in the manifest and shown in its status. */
export const noneKind: SchemeKind<unknown> = {
  create: noneScheme,
  ...SENT_AS_IT_IS,
  describe: () => ({ place: "none", algorithm: "none", content: "nothing" }),
};

function noneScheme(): Verifier {
  return {
    secretHeaders: [],
    verify: () => ({ ok: true, key: undefined }),
    sign: (input) => ({ headers: { ...input.headers } }),
  };
}
