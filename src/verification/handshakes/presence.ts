import { OK } from "./answers.ts";
import type { Handshake } from "./handshake.ts";

/** Trello, Intercom, Mandrill: a HEAD to see whether somebody is there. */
export const headPresence: Handshake = presence("HEAD");

/** Mailchimp: a GET to see whether somebody is there. */
export const getPresence: Handshake = presence("GET");

/** Exact Online: an empty POST to see whether somebody is there. */
export const emptyPost: Handshake = {
  name: "empty-post",
  method: "POST",
  signed: false,
  recognises: (request) => request.body.length === 0,
  answer: () => OK,
};

function presence(method: "GET" | "HEAD"): Handshake {
  return { name: method.toLowerCase(), method, signed: false, recognises: () => true, answer: () => OK };
}
