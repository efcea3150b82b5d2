import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { objectBody } from "../object-body.ts";
import { isRefusal } from "./find.ts";
import type { Handshake } from "./handshake.ts";
import { linkedinChallengeCode } from "./linkedin.ts";
import { asked, knowing } from "./testing.ts";
import { xCrc } from "./x.ts";
import { zoomUrlValidation } from "./zoom.ts";

/** A handshake whose answer is an HMAC under the key of the events: how a challenge is put, what is signed for an event with a body. */
interface Keyed {
  readonly name: string;
  readonly handshake: Handshake;
  readonly put: (challenge: string) => ReturnType<typeof asked>;
  readonly signedContent: (body: string) => string;
}

const inQuery = (name: string) => (challenge: string) =>
  asked({ method: "GET", path: `/hook?${name}=${encodeURIComponent(challenge)}` });

const KEYED: readonly Keyed[] = [
  {
    name: "Zoom",
    handshake: zoomUrlValidation,
    put: (plainToken) => asked({ body: { event: "endpoint.url_validation", payload: { plainToken } } }),
    signedContent: (body) => `v0:1718000000:${body}`,
  },
  { name: "X", handshake: xCrc, put: inQuery("crc_token"), signedContent: (body) => body },
  {
    name: "LinkedIn",
    handshake: linkedinChallengeCode,
    put: inQuery("challengeCode"),
    signedContent: (body) => `hmacsha256=${body}`,
  },
];

const UUID = "890e4665-4dfe-4ab1-b689-ed553bceeed0";
const hmac = (text: string) => createHmac("sha256", "key").update(text).digest();
const ask = ({ handshake, put }: Keyed, challenge: string, secrets: readonly string[] = ["key"]) =>
  handshake.answer(knowing(put(challenge), { signing: secrets }));

describe("answers that are made with the key", () => {
  it("are what the providers compute", () => {
    const [zoom, x, linkedin] = KEYED as [Keyed, Keyed, Keyed];
    expect(ask(zoom, "qgg8vlvZRS6UYooatFL8Aw")).toMatchObject({
      contentType: "application/json",
      body: `{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"${hmac("qgg8vlvZRS6UYooatFL8Aw").toString("hex")}"}`,
    });
    expect(ask(x, "challenge_string")).toMatchObject({
      body: `{"response_token":"sha256=${hmac("challenge_string").toString("base64")}"}`,
    });
    expect(ask(linkedin, UUID)).toMatchObject({
      body: `{"challengeCode":"${UUID}","challengeResponse":"${hmac(UUID).toString("hex")}"}`,
    });
    expect(ask(x, "MWQyMWMwZGMtNGRlZi00NWM5LWI3MTEtNWJlMTRmYzRhNjM2==")).toMatchObject({ status: 200 });
  });

  it.each(KEYED)("of $name need a key, and are made with the first", (keyed) => {
    const challenge = UUID;
    expect(ask(keyed, challenge, [])).toMatchObject({ status: 503, reason: "NoUsableKey" });
    expect(ask(keyed, challenge, ["key", "other"])).toEqual(ask(keyed, challenge));
    expect(ask(keyed, challenge, ["other", "key"])).not.toEqual(ask(keyed, challenge));
  });

  it.each(KEYED)("of $name are refused for whatever an event may be: its body and its signed content", (keyed) => {
    const bodies = [
      "{}",
      '{"for_user_id":"1"}',
      '{"event":"meeting.started"}',
      "{a",
      "{",
      '{"id":1}\n',
      `{${UUID}`,
      `${UUID}{`,
    ];
    for (const body of bodies) {
      expect(ask(keyed, body)).toMatchObject({ status: 400, reason: "ChallengeMalformed" });
      expect(ask(keyed, keyed.signedContent(body))).toMatchObject({ status: 400, reason: "ChallengeMalformed" });
    }
  });

  it.each(KEYED)("of $name never are the signature of an event, whatever is asked", (keyed) => {
    const anyContent = fc.oneof(
      fc.json().map((json) => `{"a":${json}}`),
      fc.string({ unit: "binary" }).map((text) => `{${text}`),
    );
    fc.assert(
      fc.property(anyContent, (body) => {
        expect(isRefusal(ask(keyed, keyed.signedContent(body)))).toBe(true);
      }),
    );
  });

  it("of X and LinkedIn stay apart from events only because a body must be an object: others are refused before the signature is looked at", () => {
    for (const prefix of ["", "hmacsha256="]) {
      const content = objectBody(prefix);
      const claims = { timestamp: undefined, id: undefined, param: () => undefined };
      for (const body of ["challenge_string", "12345", "true", "null", "", ' {"a":1}', "[1]", '"a"'])
        expect(content.contents(asked({ body }), claims)).toMatchObject({ ok: false, status: 401 });
      expect(content.contents(asked({ body: "{}" }), claims)).toEqual([[prefix, Buffer.from("{}")]]);
    }
  });
});
