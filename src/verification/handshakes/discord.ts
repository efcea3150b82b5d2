import { json } from "./answers.ts";
import type { Handshake } from "./handshake.ts";
import { bodyField, hasField } from "./said.ts";

/**
 * Discord's interactions endpoint: type 1 is a ping, answered with the same type. Discord sends one with a wrong signature too and wants 401 then. Type 1
 * with an `event` is something else: an event of an application's webhook.
 */
export const discordPing: Handshake = {
  name: "ping",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "type") === 1 && !hasField(request, "event"),
  answer: () => json({ type: 1 }),
};

/** Discord's webhook events: there type 0 is the ping, answered with 204 and no body. */
export const discordEventsPing: Handshake = {
  name: "webhook-events-ping",
  method: "POST",
  signed: true,
  recognises: (request) => bodyField(request, "type") === 0 && !hasField(request, "event"),
  answer: () => ({ status: 204, contentType: "application/json", body: "" }),
};
