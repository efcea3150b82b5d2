import { describe, expect, it } from "vitest";
import { asanaHeartbeat, asanaHookSecret } from "./asana.ts";
import { isRefusal } from "./find.ts";
import { ebayChallengeCode } from "./ebay.ts";
import { metaHubChallenge } from "./meta.ts";
import { notionVerificationToken } from "./notion.ts";
import { snsSubscriptionConfirmation, snsUnsubscribeConfirmation } from "./sns.ts";
import { asked, knowing } from "./testing.ts";

const SECRET = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";
const malformed = { ok: false, status: 400, reason: "ChallengeMalformed" };

describe("Meta's hub.challenge", () => {
  const subscribe = (token: string, rest = "hub.mode=subscribe&hub.challenge=1158201444") =>
    asked({ method: "GET", path: `/hook?${rest}&hub.verify_token=${token}` });

  it("comes back when the verify token is one of the route's, whichever", () => {
    const answer = { status: 200, contentType: "text/plain", body: "1158201444" };
    expect(metaHubChallenge.recognises(subscribe("b"))).toBe(true);
    expect(metaHubChallenge.answer(knowing(subscribe("b"), { verify: ["a", "b"] }))).toEqual(answer);
    expect(metaHubChallenge.answer(knowing(subscribe("s"), { signing: ["s"] }))).toEqual(answer);
  });

  it("is refused with 403 when it is not, also when it is the app secret of a route with a verify token", () => {
    const mismatch = { ok: false, status: 403, reason: "VerifyTokenMismatch" };
    for (const token of ["", "A", "a ", "a&hub.verify_token=a", "s"])
      expect(metaHubChallenge.answer(knowing(subscribe(token), { verify: ["a"], signing: ["s"] }))).toMatchObject(
        mismatch,
      );
    const without = asked({ method: "GET", path: "/hook?hub.mode=subscribe&hub.challenge=1" });
    expect(metaHubChallenge.answer(knowing(without, { verify: ["a"] }))).toMatchObject(mismatch);
  });

  it("is not compared with the app secret when the verify tokens are past their time", () => {
    const context = { ...knowing(subscribe("s"), { signing: ["s"] }), hasVerifyTokens: true };
    expect(metaHubChallenge.answer(context)).toMatchObject({ status: 503, reason: "NoUsableKey" });
  });

  it("is refused without a key, in another mode and without a challenge", () => {
    expect(metaHubChallenge.answer(knowing(subscribe("a")))).toMatchObject({ status: 503, reason: "NoUsableKey" });
    for (const rest of [
      "hub.challenge=1",
      "hub.mode=unsubscribe&hub.challenge=1",
      "hub.mode=subscribe",
      "hub.mode=subscribe&hub.challenge=%3Cb%20",
    ])
      expect(metaHubChallenge.answer(knowing(subscribe("a", rest), { verify: ["a"] }))).toMatchObject(malformed);
  });

  it("is no other GET", () => {
    expect(metaHubChallenge.recognises(asked({ method: "GET", path: "/hook?mode=subscribe" }))).toBe(false);
  });
});

describe("Asana's X-Hook-Secret", () => {
  const request = asked({ headers: { "x-hook-secret": SECRET }, body: "{}" });

  it("is sent back and kept for the operator while the route has no key", () => {
    expect(asanaHookSecret.recognises(request)).toBe(true);
    const answer = asanaHookSecret.answer(knowing(request));
    if (isRefusal(answer)) throw new Error(answer.reason);
    expect(answer).toMatchObject({ status: 200, body: "", headers: { "x-hook-secret": SECRET } });
    expect(answer.action).toMatchObject({ type: "keep", kind: "hook-secret" });
    expect(answer.action?.type === "keep" && answer.action.value.equals(Buffer.from(SECRET))).toBe(true);
  });

  it("is refused with 401 once the route has one, unless its owner opened it", () => {
    const closed = { ok: false, status: 401, reason: "HandshakeClosed" };
    expect(asanaHookSecret.answer(knowing(request, { signing: ["k"] }))).toMatchObject(closed);
    const other = { handshake: "open" };
    expect(asanaHookSecret.answer(knowing(request, { signing: ["k"], parameters: other }))).toMatchObject(closed);
    const opened = knowing(request, { signing: ["k"], parameters: { handshake: "Open" } });
    expect(asanaHookSecret.answer(opened)).toMatchObject({ status: 200 });
  });

  it("must look like a secret, once", () => {
    for (const value of ["short", `${SECRET} `, `${SECRET}\r\nset-cookie: a=b`, "a".repeat(257), [SECRET, SECRET]]) {
      const odd = asked({ headers: { "x-hook-secret": value } });
      expect(asanaHookSecret.answer(knowing(odd))).toMatchObject(malformed);
    }
  });

  it("takes no signed event away", () => {
    const event = asked({ headers: { "x-hook-secret": SECRET, "x-hook-signature": "ab" }, body: { events: [{}] } });
    expect(asanaHookSecret.recognises(event)).toBe(false);
  });
});

describe("Asana's heartbeat", () => {
  it("is a signed body without events", () => {
    expect(asanaHeartbeat.signed).toBe(true);
    expect(asanaHeartbeat.recognises(asked({ body: { events: [] } }))).toBe(true);
    expect(asanaHeartbeat.recognises(asked({ body: { events: [{ action: "added" }] } }))).toBe(false);
    expect(asanaHeartbeat.recognises(asked({ body: [] }))).toBe(false);
  });
});

describe("Notion's verification_token", () => {
  const request = asked({ body: { verification_token: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl" } });

  it("is kept for the operator and not shown", () => {
    expect(notionVerificationToken.recognises(request)).toBe(true);
    const answer = notionVerificationToken.answer(knowing(request));
    expect(answer).toMatchObject({ status: 200, body: "", action: { type: "keep", kind: "verification-token" } });
    expect(JSON.stringify(answer)).not.toContain("tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl");
  });

  it("is refused once the route has a key, unless its owner opened it", () => {
    expect(notionVerificationToken.answer(knowing(request, { signing: ["k"] }))).toMatchObject({
      reason: "HandshakeClosed",
    });
    const opened = knowing(request, { signing: ["k"], parameters: { handshake: "Open" } });
    expect(notionVerificationToken.answer(opened)).toMatchObject({ status: 200 });
  });

  it("is malformed as anything but a token, and never an event", () => {
    for (const verification_token of [1, "", "a b", {}])
      expect(notionVerificationToken.answer(knowing(asked({ body: { verification_token } })))).toMatchObject(malformed);
    const event = asked({ body: { id: "e", type: "page.created", verification_token: SECRET } });
    expect(notionVerificationToken.recognises(event)).toBe(false);
  });
});

describe("SNS", () => {
  const confirm = (SubscribeURL: unknown) => {
    const request = asked({ body: { Type: "SubscriptionConfirmation", SubscribeURL } });
    expect(snsSubscriptionConfirmation.recognises(request)).toBe(true);
    return snsSubscriptionConfirmation.answer(knowing(request));
  };

  it.each(["sns.us-east-1.amazonaws.com", "sns.us-gov-west-1.amazonaws.com", "sns.cn-north-1.amazonaws.com.cn"])(
    "is confirmed at %s, named without the token",
    (host) => {
      const url = `https://${host}/?Action=ConfirmSubscription&Token=2336412f37`;
      expect(confirm(url)).toEqual({
        status: 200,
        body: "",
        action: { type: "confirm", url, id: `https://${host}/` },
      });
    },
  );

  it.each([
    "http://sns.us-east-1.amazonaws.com/",
    "https://sns.us-east-1.amazonaws.com.evil.example/",
    "https://evil.example/?sns.us-east-1.amazonaws.com",
    "https://evil.example#sns.us-east-1.amazonaws.com",
    "https://asns.us-east-1.amazonaws.com/",
    "https://sns.us-east-1.amazonaws.com:8443/",
    "https://user@sns.us-east-1.amazonaws.com/",
    "https://:pw@sns.us-east-1.amazonaws.com/",
    "https://sns.us-east-1.s3.amazonaws.com/",
    "https://sns.amazonaws.com/",
    "https://sqs.us-east-1.amazonaws.com/",
    "https://sns.us-east-1.amazonaws.com.cn.evil.example/",
    "//sns.us-east-1.amazonaws.com/",
    "",
    undefined,
    5,
    `https://sns.us-east-1.amazonaws.com/?${"a".repeat(4_096)}`,
  ])("fetches nothing from %s", (url) => {
    expect(confirm(url)).toMatchObject(malformed);
  });

  it("does not subscribe again when somebody unsubscribed", () => {
    const url = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription";
    const request = asked({ body: { Type: "UnsubscribeConfirmation", SubscribeURL: url } });
    expect(snsUnsubscribeConfirmation.recognises(request)).toBe(true);
    const answer = snsUnsubscribeConfirmation.answer(knowing(request));
    expect(answer).toMatchObject({ status: 200, notice: expect.stringContaining("ended") });
    expect(answer).not.toHaveProperty("action");
  });

  it("is verified first and leaves notifications alone", () => {
    const notification = asked({ body: { Type: "Notification", Message: '{"Type":"SubscriptionConfirmation"}' } });
    for (const handshake of [snsSubscriptionConfirmation, snsUnsubscribeConfirmation]) {
      expect(handshake.signed).toBe(true);
      expect(handshake.recognises(notification)).toBe(false);
    }
  });
});

describe("eBay's challenge_code", () => {
  // SHA-256 of "a8628072-3d33-45ee-9004-bee86830a22d" + "verify-token" + "https://hooks.example.com/hook", computed with sha256sum.
  const request = asked({ method: "GET", path: "/hook?challenge_code=a8628072-3d33-45ee-9004-bee86830a22d" });
  const expected = "8005c508f571618eac600e8cb853fd23d48ad3d63497307f0ff2da40979ab65d";

  it("is answered with a hash over it, the verify token and the public URL without eBay's query", () => {
    expect(ebayChallengeCode.recognises(request)).toBe(true);
    const answer = ebayChallengeCode.answer(knowing(request, { verify: ["verify-token"], signing: ["other"] }));
    expect(answer).toMatchObject({ contentType: "application/json", body: `{"challengeResponse":"${expected}"}` });
  });

  it("takes a public URL with a query of its own as it is", () => {
    const own = { ...request, url: "https://hooks.example.com/hook?tenant=1" };
    const other = ebayChallengeCode.answer(knowing(own, { verify: ["verify-token"] }));
    expect(other).toMatchObject({
      body: '{"challengeResponse":"d5d3163d20151301300e4a57db1a1edb87956b6c00cc53daf67187c7f1950d64"}',
    });
  });

  it("is refused without a token or when malformed", () => {
    expect(ebayChallengeCode.answer(knowing(request))).toMatchObject({ reason: "NoUsableKey" });
    const publicKey = knowing(request, { signing: ["-----BEGIN PUBLIC KEY-----"] });
    expect(ebayChallengeCode.answer(publicKey)).toMatchObject({ status: 503, reason: "NoUsableKey" });
    for (const query of ["?challenge_code=", "?challenge_code=a.b", "?challenge_code=a&challenge_code=a"]) {
      const odd = asked({ method: "GET", path: `/hook${query}` });
      expect(ebayChallengeCode.answer(knowing(odd, { verify: ["t"] }))).toMatchObject(malformed);
    }
  });
});
