const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Whether a text is Unicode. JSON may hold halves of surrogate pairs (RFC 8259 §8.2), which become U+FFFD as bytes: many texts, and with them many
 * contents, would have one signature.
 */
export function isUnicode(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}
