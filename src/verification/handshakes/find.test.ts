import { describe, expect, it } from "vitest";
import { keysOf } from "../vectors.ts";
import { answerHandshake, answerHeaders, findHandshake, handshakeMethods } from "./find.ts";
import type { Handshake } from "./handshake.ts";
import { headPresence } from "./presence.ts";
import { queryChallenge } from "./query-challenge.ts";
import { slackUrlVerification } from "./slack.ts";
import { ALL_HANDSHAKES, asked, knowing } from "./testing.ts";

describe("finding a handshake", () => {
  const list = [slackUrlVerification, queryChallenge, headPresence];

  it("is the first that takes the method and recognises the request", () => {
    expect(findHandshake(list, asked({ body: { type: "url_verification", challenge: "a" } }))).toBe(
      slackUrlVerification,
    );
    expect(findHandshake(list, asked({ method: "GET", path: "/hook?challenge=a" }))).toBe(queryChallenge);
    expect(findHandshake(list, asked({ method: "HEAD", path: "/hook?challenge=a" }))).toBe(headPresence);
  });

  it("finds none in an event, nor when the method is another", () => {
    expect(findHandshake(list, asked({ body: { type: "event_callback" } }))).toBeUndefined();
    expect(findHandshake(list, asked({ path: "/hook?challenge=a", body: { type: "event_callback" } }))).toBeUndefined();
    expect(findHandshake([], asked({ method: "HEAD" }))).toBeUndefined();
  });

  it("does not parse a body that is too long for one: anybody may send it", () => {
    let parsed = 0;
    const counted = (length: number) => {
      const text = JSON.stringify({ type: "url_verification", challenge: "a" }).padEnd(length);
      const request = asked({ body: text });
      return {
        ...request,
        json: () => {
          parsed += 1;
          return request.json();
        },
      };
    };
    expect(findHandshake(list, counted(16_385))).toBeUndefined();
    expect(parsed).toBe(0);
    expect(findHandshake(list, counted(16_384))).toBe(slackUrlVerification);
  });

  it("names each method once", () => {
    expect(handshakeMethods([...list, slackUrlVerification])).toEqual(["POST", "GET", "HEAD"]);
  });
});

describe("which requests are believed without a signature", () => {
  it("is the same for each, and said here once more", () => {
    const unsigned = ALL_HANDSHAKES.filter(({ signed }) => !signed).map(({ name, method }) => `${method} ${name}`);
    expect(unsigned.toSorted()).toEqual([
      "GET challenge",
      "GET challengeCode",
      "GET challenge_code",
      "GET crc",
      "GET get",
      "GET hub.challenge",
      "HEAD head",
      "POST challenge",
      "POST empty-post",
      "POST ping",
      "POST validationToken",
      "POST verification_token",
      "POST x-hook-secret",
    ]);
  });
});

describe("answering", () => {
  it("puts the key that the request verified with first", () => {
    const seen: string[][] = [];
    const handshake: Handshake = {
      ...slackUrlVerification,
      answer: ({ signing }) => {
        seen.push(signing.map(({ id }) => id));
        return { status: 200, body: "" };
      },
    };
    const context = { ...knowing(asked({})), signing: keysOf(["a", "b", "c"]) };
    answerHandshake(handshake, context, "00000001");
    answerHandshake(handshake, context);
    answerHandshake(handshake, context, "another");
    const asGiven = ["00000000", "00000001", "00000002"];
    expect(seen).toEqual([["00000001", "00000000", "00000002"], asGiven, asGiven]);
  });
});

describe("headers of an answer", () => {
  it("are its type as it is, its length, and nosniff", () => {
    expect(answerHeaders({ status: 200, contentType: "text/plain", body: "abc" })).toEqual({
      "content-type": "text/plain",
      "content-length": "3",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
  });

  it("of an empty body say its length but no type, and a 204 says only its type when the provider wants one", () => {
    expect(answerHeaders({ status: 200, body: "" })).not.toHaveProperty("content-type");
    expect(answerHeaders({ status: 200, body: "" })).toHaveProperty("content-length", "0");
    expect(answerHeaders({ status: 204, contentType: "application/json", body: "" })).toEqual({
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
  });

  it("include those of the handshake", () => {
    expect(answerHeaders({ status: 200, body: "", headers: { "x-hook-secret": "s" } })).toHaveProperty(
      "x-hook-secret",
      "s",
    );
  });
});
