import { OK } from "./answers.ts";
import { isEmptyList } from "./asana.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField } from "./said.ts";

/** Xero's intent to receive: deliveries without events, some signed wrongly on purpose. 200 without a body for the right ones, 401 for the others. */
export const xeroIntentToReceive: Handshake = {
  name: "intent-to-receive",
  method: "POST",
  signed: true,
  recognises: (request) => isEmptyList(bodyField(request, "events")),
  answer: () => OK,
};
