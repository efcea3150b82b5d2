import type { Verifier } from "../types.ts";
import { COVERS_NOTHING, type SchemeKind } from "./scheme-kind.ts";

/** No verification: written out in the manifest and shown in its status. */
export const noneKind: SchemeKind<unknown> = {
  create: noneScheme,
  covers: () => COVERS_NOTHING,
  signsTime: () => false,
  describe: () => ({ place: "none", algorithm: "none", content: "nothing" }),
};

function noneScheme(): Verifier {
  return {
    secretHeaders: [],
    verify: () => ({ ok: true, key: undefined }),
    sign: (input) => ({ headers: { ...input.headers } }),
  };
}
