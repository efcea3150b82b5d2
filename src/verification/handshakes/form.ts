/** What an echo may hold: printable ASCII without blanks, so that it is one harmless word wherever it ends up. */
export const ECHO_FORM = /^[\x21-\x7e]{1,512}$/;

/** The same with blanks: Microsoft Graph's token is a sentence. */
export const SENTENCE_FORM = /^[\x20-\x7e]{1,2048}$/;

/**
 * What a challenge may be whose answer is a keyed hash of it. None of these characters begins a JSON object or separates the parts of a signed content (`:`,
 * `.`, `=` in front of something), so that no answer is ever the signature of an event.
 */
export const HASHED_FORM = /^[A-Za-z0-9_-]{1,128}$/;

/** A secret that a provider hands over: what RFC 6750 §2.1 lets a token be. */
export const HANDED_OVER_FORM = /^[A-Za-z0-9._~+/=-]{8,256}$/;
