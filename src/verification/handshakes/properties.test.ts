import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerHeaders, isRefusal } from "./find.ts";
import type { HandshakeAnswer } from "./handshake.ts";
import { ALL_HANDSHAKES, asked, knowing } from "./testing.ts";

const WORDS = [
  "type",
  "challenge",
  "event",
  "payload",
  "plainToken",
  "verification_token",
  "events",
  "Type",
  "SubscribeURL",
  "subscription",
  "value",
  "url_verification",
  "endpoint.url_validation",
  "SubscriptionConfirmation",
  "UnsubscribeConfirmation",
  "sync",
  "webhook_callback_verification",
  "revocation",
  "<script>alert(1)</script>",
  '"',
  "\\",
  "\u2028",
  "\r\n",
  "https://sns.us-east-1.amazonaws.com/",
  "__proto__",
  "constructor",
];
const PARAMETERS = [
  "challenge",
  "crc_token",
  "challengeCode",
  "challenge_code",
  "hub.mode",
  "hub.challenge",
  "hub.verify_token",
  "validationToken",
  "subscribe",
];
const HEADERS = [
  "x-hook-secret",
  "x-hook-signature",
  "x-okta-verification-challenge",
  "x-front-challenge",
  "aeg-event-type",
  "twitch-eventsub-message-type",
];

const text = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
);
const key = fc.oneof(fc.constantFrom(...WORDS), fc.string());
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom<unknown>(0, 1, null, true, []),
    fc.dictionary(key, tie("value"), { maxKeys: 5 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;
const body = fc.oneof(
  json.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom(Buffer.from(""), Buffer.from("webhook_id=1"), Buffer.from("[".repeat(10_000))),
);
const query = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom(...PARAMETERS), fc.string()), fc.oneof(text, fc.constant("subscribe"))), {
    maxLength: 4,
  })
  .chain((pairs) => {
    const encoded = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString();
    return fc.oneof(fc.constant(encoded), fc.constant(decoded(encoded)), fc.string());
  });
const headers = fc.dictionary(fc.constantFrom(...HEADERS), fc.oneof(text, fc.array(text, { maxLength: 2 })));
const requests = fc
  .record({ method: fc.constantFrom("GET", "HEAD", "POST"), query, headers, body })
  .map((parts) =>
    asked({ method: parts.method, path: `/hook?${parts.query}`, headers: parts.headers, body: parts.body }),
  );
const secrets = fc.record({
  signing: fc.array(fc.constantFrom("key", "subscribe"), { maxLength: 2 }),
  verify: fc.array(fc.constantFrom("token", "subscribe"), { maxLength: 1 }),
  parameters: fc.constantFrom<Record<string, string>>({}, { handshake: "Open" }),
});

function decoded(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

const PRINTABLE = /^[\x20-\x7e]*$/;

/** Whether an answer can be read as nothing but plain text, or as a flat JSON object of strings and numbers. */
function isHarmless(answer: HandshakeAnswer): boolean {
  const { contentType, status } = answer;
  if (![answer.body, ...Object.values(answerHeaders(answer))].every((value) => PRINTABLE.test(value))) return false;
  if (contentType === "text/plain") return true;
  if (contentType === undefined || status === 204) return answer.body === "";
  const fields = JSON.parse(answer.body) as object;
  const flat = Object.values(fields).every((value) => typeof value === "string" || typeof value === "number");
  return flat && JSON.stringify(fields) === answer.body;
}

describe.each(ALL_HANDSHAKES)("$name ($method), whatever is asked", (handshake) => {
  it("throws nothing, and answers only with plain text, a flat JSON object or nothing", () => {
    fc.assert(
      fc.property(requests, secrets, (request, known) => {
        handshake.recognises(request);
        const answer = handshake.answer(knowing(request, known));
        expect(isRefusal(answer) || isHarmless(answer)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
