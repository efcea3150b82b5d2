import { OK } from "./answers.ts";
import type { Handshake } from "./handshake.ts";

/** WooCommerce: a form with the webhook's number, unsigned, when a webhook is saved. Events are JSON. */
export const wooCommercePing: Handshake = {
  name: "ping",
  method: "POST",
  signed: false,
  // The length first, so that no text is made of a large body.
  recognises: ({ body }) => body.length <= 31 && /^webhook_id=\d{1,20}$/.test(body.toString("latin1")),
  answer: () => OK,
};
