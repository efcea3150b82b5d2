import { keptBytes } from "../lib/kept-bytes.ts";
import { Secret } from "../lib/secret.ts";
import type { RouteEntry } from "../routes/entry.ts";
import type { VerificationKey } from "../verification/types.ts";

/** The keys with which a gateway checks signatures, previous and next ones included. */
export function signingKeys({ keys }: Pick<RouteEntry, "keys">): readonly VerificationKey[] {
  return keys.flatMap(({ value, use, ...key }) =>
    use === "Signing" ? [{ ...key, secret: new Secret(keptBytes(value, "base64")) }] : [],
  );
}
