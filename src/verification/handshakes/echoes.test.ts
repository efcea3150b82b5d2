import { describe, expect, it } from "vitest";
import { discordEventsPing, discordPing } from "./discord.ts";
import { eventGridValidation } from "./event-grid.ts";
import { frontChallenge } from "./front.ts";
import { graphValidationToken } from "./graph.ts";
import type { Handshake } from "./handshake.ts";
import { mondayChallenge } from "./monday.ts";
import { oktaVerificationChallenge } from "./okta.ts";
import { emptyPost, getPresence, headPresence } from "./presence.ts";
import { queryChallenge } from "./query-challenge.ts";
import { slackUrlVerification } from "./slack.ts";
import { asked, knowing } from "./testing.ts";
import { twitchRevocation, twitchVerification } from "./twitch.ts";
import { wooCommercePing } from "./woocommerce.ts";
import { xeroIntentToReceive } from "./xero.ts";

const answerOf = (handshake: Handshake, request: ReturnType<typeof asked>) => handshake.answer(knowing(request));
const malformed = { ok: false, status: 400, reason: "ChallengeMalformed" };

describe("Slack's url_verification", () => {
  const request = asked({ body: { token: "t", challenge: "3eZbrw1aBm2rZgRNFdxV", type: "url_verification" } });

  it("is echoed as plain text, and verified first", () => {
    expect(slackUrlVerification.recognises(request)).toBe(true);
    expect(slackUrlVerification.signed).toBe(true);
    expect(answerOf(slackUrlVerification, request)).toEqual({
      status: 200,
      contentType: "text/plain",
      body: "3eZbrw1aBm2rZgRNFdxV",
    });
  });

  it("is not an event that has such a type inside, nor a list, nor no JSON", () => {
    const inside = { type: "event_callback", event_id: "Ev1", event: { type: "url_verification", challenge: "a" } };
    expect(slackUrlVerification.recognises(asked({ body: inside }))).toBe(false);
    expect(slackUrlVerification.recognises(asked({ body: [{ type: "url_verification" }] }))).toBe(false);
    expect(slackUrlVerification.recognises(asked({ body: "type=url_verification" }))).toBe(false);
    expect(
      slackUrlVerification.recognises(asked({ body: Buffer.from('{"type":"url_verification","a":"\xff"}', "latin1") })),
    ).toBe(false);
  });

  it.each([undefined, 1, "", "a b", "a\n", "ä", "a".repeat(513), ["a"]])(
    "with challenge %j is malformed",
    (challenge) => {
      expect(answerOf(slackUrlVerification, asked({ body: { type: "url_verification", challenge } }))).toMatchObject(
        malformed,
      );
    },
  );
});

describe("monday.com's challenge", () => {
  it("comes back as JSON", () => {
    const request = asked({ body: { challenge: 'a"<b>' } });
    expect(mondayChallenge.recognises(request)).toBe(true);
    expect(answerOf(mondayChallenge, request)).toEqual({
      status: 200,
      contentType: "application/json",
      body: '{"challenge":"a\\"<b>"}',
    });
  });

  it("is not an event, even with a challenge in it", () => {
    expect(mondayChallenge.recognises(asked({ body: { event: { type: "create_pulse" }, challenge: "a" } }))).toBe(
      false,
    );
    expect(mondayChallenge.recognises(asked({ body: { event: {} } }))).toBe(false);
  });
});

describe("a challenge in the query (Dropbox, Nylas)", () => {
  it("comes back exactly as it is, decoded", () => {
    const request = asked({ method: "GET", path: "/hook?x=1&challenge=abc%2B123" });
    expect(queryChallenge.recognises(request)).toBe(true);
    expect(answerOf(queryChallenge, request)).toEqual({ status: 200, contentType: "text/plain", body: "abc+123" });
  });

  it.each([
    "?challenge=",
    "?challenge=a&challenge=a",
    "?challenge=a+b",
    "?challenge=%ff",
    "?challenge=%E0%A4%A",
    "?challenge=a%0d%0a",
  ])("is malformed as %s", (query) => {
    expect(answerOf(queryChallenge, asked({ method: "GET", path: `/hook${query}` }))).toMatchObject(malformed);
  });

  it("is none without the parameter", () => {
    expect(queryChallenge.recognises(asked({ method: "GET", path: "/hook?challenges=a" }))).toBe(false);
    expect(queryChallenge.recognises(asked({ method: "GET" }))).toBe(false);
  });
});

describe("Okta's verification challenge", () => {
  it("comes back as JSON, after the hook's secret was checked", () => {
    const request = asked({ method: "GET", headers: { "x-okta-verification-challenge": "my-challenge-1" } });
    expect(oktaVerificationChallenge.signed).toBe(true);
    expect(oktaVerificationChallenge.recognises(request)).toBe(true);
    expect(answerOf(oktaVerificationChallenge, request)).toMatchObject({ body: '{"verification":"my-challenge-1"}' });
  });

  it("is malformed when it is sent twice", () => {
    const request = asked({ method: "GET", headers: { "x-okta-verification-challenge": ["a", "a"] } });
    expect(answerOf(oktaVerificationChallenge, request)).toMatchObject(malformed);
    expect(oktaVerificationChallenge.recognises(asked({ method: "GET" }))).toBe(false);
  });
});

describe("Microsoft Graph's validationToken", () => {
  it("comes back decoded, blanks included", () => {
    const path = "/hook?validationToken=Validation%3a+Testing+client+application+reachability";
    expect(graphValidationToken.recognises(asked({ path }))).toBe(true);
    expect(answerOf(graphValidationToken, asked({ path }))).toEqual({
      status: 200,
      contentType: "text/plain",
      body: "Validation: Testing client application reachability",
    });
  });

  it("is also SharePoint's, in lower case, and malformed when both are there", () => {
    expect(answerOf(graphValidationToken, asked({ path: "/hook?validationtoken=a" }))).toMatchObject({ body: "a" });
    const both = asked({ path: "/hook?validationtoken=a&validationToken=b" });
    expect(answerOf(graphValidationToken, both)).toMatchObject(malformed);
  });

  it("takes no notification away", () => {
    const request = asked({ path: "/hook?validationToken=a", body: { value: [{ subscriptionId: "s" }] } });
    expect(graphValidationToken.recognises(request)).toBe(false);
  });
});

describe("Discord's pings", () => {
  it("are answered by the endpoint's own kind", () => {
    expect(discordPing.recognises(asked({ body: { type: 1 } }))).toBe(true);
    expect(answerOf(discordPing, asked({ body: { type: 1 } }))).toMatchObject({ status: 200, body: '{"type":1}' });
    expect(discordEventsPing.recognises(asked({ body: { version: 1, type: 0 } }))).toBe(true);
    expect(answerOf(discordEventsPing, asked({}))).toMatchObject({ status: 204, body: "" });
  });

  it("are no interactions and no events", () => {
    expect(discordPing.recognises(asked({ body: { type: 2, id: "1" } }))).toBe(false);
    expect(discordPing.recognises(asked({ body: { type: "1" } }))).toBe(false);
    expect(discordPing.recognises(asked({ body: { type: 1, event: { type: "APPLICATION_AUTHORIZED" } } }))).toBe(false);
    expect(discordEventsPing.recognises(asked({ body: { type: 0, event: {} } }))).toBe(false);
  });
});

describe("Azure Event Grid's validation", () => {
  const event = {
    id: "1",
    eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
    data: { validationCode: "512d38b6-c7b8-40c8-89fe-f46f9e9622b6" },
  };
  const headers = { "aeg-event-type": "SubscriptionValidation" };

  it("gets its code back, once the token in the URL is right", () => {
    expect(eventGridValidation.signed).toBe(true);
    expect(eventGridValidation.recognises(asked({ headers, body: [event] }))).toBe(true);
    expect(answerOf(eventGridValidation, asked({ headers, body: [event] }))).toEqual({
      status: 200,
      contentType: "application/json",
      body: '{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
    });
    expect(answerOf(eventGridValidation, asked({ headers, body: [{ ...event, data: {} }] }))).toMatchObject(malformed);
  });

  it("is no event: neither with others in the list, nor by its type alone, nor by its header alone", () => {
    expect(eventGridValidation.recognises(asked({ headers, body: [event, event] }))).toBe(false);
    expect(eventGridValidation.recognises(asked({ body: [event] }))).toBe(false);
    expect(eventGridValidation.recognises(asked({ headers, body: [{ ...event, eventType: "Mine" }] }))).toBe(false);
    expect(eventGridValidation.recognises(asked({ headers, body: event }))).toBe(false);
  });
});

describe("Front's challenge", () => {
  const body = { type: "sync", authorization: { id: "cmp_abc" } };

  it("comes back as plain text", () => {
    const request = asked({ body, headers: { "x-front-challenge": "random-1" } });
    expect(frontChallenge.recognises(request)).toBe(true);
    expect(answerOf(frontChallenge, request)).toMatchObject({ contentType: "text/plain", body: "random-1" });
  });

  it("needs the header and its own type of body", () => {
    expect(frontChallenge.recognises(asked({ body }))).toBe(false);
    const event = asked({ body: { type: "inbound_received" }, headers: { "x-front-challenge": "a" } });
    expect(frontChallenge.recognises(event)).toBe(false);
  });
});

describe("Twitch's messages about a subscription", () => {
  const type = (name: string) => ({ "twitch-eventsub-message-type": name });
  const subscription = { id: "s", status: "authorization_revoked" };

  it("are a challenge that comes back as plain text, and a revocation that an operator sees", () => {
    const challenge = asked({
      headers: type("webhook_callback_verification"),
      body: { challenge: "pogchamp", subscription },
    });
    expect(twitchVerification.recognises(challenge)).toBe(true);
    expect(answerOf(twitchVerification, challenge)).toMatchObject({ contentType: "text/plain", body: "pogchamp" });
    const revoked = asked({ headers: type("revocation"), body: { subscription } });
    expect(twitchRevocation.recognises(revoked)).toBe(true);
    expect(answerOf(twitchRevocation, revoked)).toMatchObject({
      status: 200,
      notice: expect.stringContaining("revoked"),
    });
  });

  it("are never an event whose unsigned header was changed", () => {
    const body = { subscription, event: { user_id: "1" }, challenge: "a" };
    expect(twitchVerification.recognises(asked({ headers: type("webhook_callback_verification"), body }))).toBe(false);
    expect(twitchRevocation.recognises(asked({ headers: type("revocation"), body }))).toBe(false);
    expect(twitchVerification.recognises(asked({ headers: type("notification"), body: { challenge: "a" } }))).toBe(
      false,
    );
  });
});

describe("requests that only ask whether somebody is there", () => {
  it("are answered with 200 and nothing else", () => {
    const nothing = { status: 200, body: "" };
    expect(answerOf(headPresence, asked({ method: "HEAD" }))).toEqual(nothing);
    expect(answerOf(getPresence, asked({ method: "GET" }))).toEqual(nothing);
    expect(answerOf(emptyPost, asked({}))).toEqual(nothing);
    expect(answerOf(xeroIntentToReceive, asked({ body: { events: [] } }))).toEqual(nothing);
    expect(answerOf(wooCommercePing, asked({ body: "webhook_id=12" }))).toEqual(nothing);
  });

  it("are no events", () => {
    expect(emptyPost.recognises(asked({ body: "{}" }))).toBe(false);
    expect(xeroIntentToReceive.recognises(asked({ body: { events: [{ resourceId: "r" }] } }))).toBe(false);
    expect(xeroIntentToReceive.recognises(asked({ body: { entropy: "x" } }))).toBe(false);
    expect(xeroIntentToReceive.signed).toBe(true);
    for (const body of [
      "webhook_id=",
      "webhook_id=1&a=b",
      "webhook_id=1\n",
      `{"webhook_id":1}`,
      `webhook_id=${"1".repeat(21)}`,
    ])
      expect(wooCommercePing.recognises(asked({ body }))).toBe(false);
  });
});
