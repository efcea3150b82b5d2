import { Secret } from "../../lib/secret.ts";
import type { PresetParameter } from "../presets/preset.ts";
import { refuse, type Refusal } from "../refusal.ts";
import type { HandshakeAction, HandshakeContext } from "./handshake.ts";

/** The parameter that opens a route for a new secret although it has one. */
export const HANDSHAKE_PARAMETER: PresetParameter = {
  name: "handshake",
  required: false,
  description:
    "Open: take a new secret from the provider although the route has a key. Set it only while the webhook is set up",
  values: ["Closed", "Open"],
};

/**
 * A secret that arrives unsigned is believed on first use only: while the route has no key, or its owner opened it. Else anybody could re-key the route.
 *
 * @returns what to keep for the operator, or why it is refused
 */
export function keepFirst(
  { signing, parameters }: Pick<HandshakeContext, "signing" | "parameters">,
  kind: "verification-token" | "hook-secret",
  value: string | Refusal,
): Extract<HandshakeAction, { type: "keep" }> | Refusal {
  if (signing.length > 0 && parameters["handshake"] !== "Open")
    return refuse(
      "HandshakeClosed",
      "the route has a key already: set parameters.handshake to Open while the webhook is set up anew",
    );
  return typeof value === "string" ? { type: "keep", kind, value: Secret.of(value) } : value;
}
