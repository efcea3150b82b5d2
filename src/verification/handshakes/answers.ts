import type { Refusal } from "../refusal.ts";
import type { HandshakeAnswer } from "./handshake.ts";

/** 200 without a body. */
export const OK: HandshakeAnswer = { status: 200, body: "" };

/** The text itself, as `text/plain`; a refusal stays one. */
export function plain(text: string | Refusal): HandshakeAnswer | Refusal {
  return typeof text === "string" ? { status: 200, contentType: "text/plain", body: text } : text;
}

/** A flat JSON object; what comes from the request is a string in it. */
export function json(fields: Readonly<Record<string, string | number>>): HandshakeAnswer {
  return { status: 200, contentType: "application/json", body: JSON.stringify(fields) };
}

/** A JSON object made of a well-formed challenge; a refusal stays one. */
export function jsonOf(
  challenge: string | Refusal,
  fields: (challenge: string) => Readonly<Record<string, string | number>>,
): HandshakeAnswer | Refusal {
  return typeof challenge === "string" ? json(fields(challenge)) : challenge;
}
