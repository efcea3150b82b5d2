import { OK } from "./answers.ts";
import { keepFirst } from "./first-use.ts";
import { HANDED_OVER_FORM } from "./form.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, wellFormed } from "./said.ts";

/** Asana: the secret of a new webhook arrives in a header and is sent back in it. Events have a signature instead. */
export const asanaHookSecret: Handshake = {
  name: "x-hook-secret",
  method: "POST",
  signed: false,
  recognises: (request) =>
    request.header("x-hook-secret").length > 0 && request.header("x-hook-signature").length === 0,
  answer: (context) => {
    const secret = wellFormed(context.request.header("x-hook-secret"), HANDED_OVER_FORM, "header x-hook-secret");
    const action = keepFirst(context, "hook-secret", secret);
    if ("ok" in action || typeof secret !== "string") return "ok" in action ? action : OK;
    return { ...OK, headers: { "x-hook-secret": secret }, action };
  },
};

/** Asana: `{"events":[]}` every 8 hours. Unanswered for a day, the webhook is deleted. */
export const asanaHeartbeat: Handshake = {
  name: "heartbeat",
  method: "POST",
  signed: true,
  recognises: (request) => isEmptyList(bodyField(request, "events")),
  answer: () => OK,
};

/** Whether a value is a list with nothing in it. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
