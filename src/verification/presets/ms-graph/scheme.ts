import { valueAt } from "../../../lib/json-source.ts";
import { isRecord } from "../../../lib/record.ts";
import { isUnicode } from "../../../lib/unicode.ts";
import { VerificationConfigError } from "../../config.ts";
import { keyRingCache, usableAt } from "../../keys.ts";
import { NO_USABLE_KEY, refuse, type Refusal } from "../../refusal.ts";
import { objectToSign, signerOf } from "../../signer.ts";
import type { SignedRequest, VerificationKey, Verifier } from "../../types.ts";

/** A secret that every notification of the body repeats. Nothing is signed. */
export function graphScheme(): Verifier {
  const ring = keyRingCache((secret) => secret);
  return {
    secretHeaders: [],
    verify(request, keys, now) {
      const usable = usableAt(ring(keys), now);
      if (usable.length === 0) return NO_USABLE_KEY;
      const states = clientStates(request);
      if ("ok" in states) return states;
      let first: VerificationKey | undefined;
      for (const [index, state] of states.entries()) {
        const sent = Buffer.from(state, "utf8");
        const match = usable.find(({ material }) => material.equals(sent));
        if (!match) {
          const which = `clientState of notification ${index + 1} of ${states.length}`;
          return refuse("TokenMismatch", `${which} matches none of ${usable.length} key(s)`);
        }
        first ??= match.key;
      }
      return { ok: true, key: first };
    },
    sign(input, keys, now) {
      const clientState = signerOf(ring(keys), now).material.reveal().toString("utf8");
      const body = objectToSign(input.body, "a change notification collection with value");
      const { value } = body;
      if (!Array.isArray(value) || !value.every(isRecord)) {
        throw new VerificationConfigError("CannotSign", "field value of the body is no list of notifications");
      }
      const signed = { ...body, value: value.map((notification) => ({ ...notification, clientState })) };
      return { headers: { ...input.headers }, body: Buffer.from(JSON.stringify(signed)) };
    },
  };
}

/** The state of every notification; at least one. */
function clientStates(request: SignedRequest): readonly string[] | Refusal {
  const body = request.json();
  const list = body.ok ? valueAt(body.value, ["value"]) : undefined;
  if (!Array.isArray(list)) return refuse("SignatureMissing", "the body has no list of notifications in value");
  if (list.length === 0) return refuse("SignatureMissing", "the body has no notification, and so no clientState");
  const states = list.map((notification: unknown) => valueAt(notification, ["clientState"]));
  if (states.every(isState)) return states;
  return refuse("SignatureMissing", "a notification has no clientState: create the subscription with one");
}

/** A text that is no Unicode would become another one as bytes. */
function isState(state: unknown): state is string {
  return typeof state === "string" && state !== "" && isUnicode(state);
}
