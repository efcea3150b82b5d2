import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SECRET } from "../../src/gateway/testing.ts";
import { providerIdHash, providerIdQuery } from "../../src/routes/delivery-id.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { sendTo } from "../support/gateway.ts";
import { keyFor, type GatewayOverRedis, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

const ROUTE = "0123456789abcdef";
let redis: TestRedis;
let running: GatewayOverRedis;
let route: RouteEntry;
beforeEach(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await running.close();
  await redis.stop();
});

async function serve(provider: string, changes: Partial<RouteEntry> = {}): Promise<GatewayOverRedis> {
  route = providerRoute(provider, changes);
  running = await startGatewayOverRedis(redis, [route]);
  return running;
}
const hmac = (algorithm: string, key: string | Buffer, text: string) => createHmac(algorithm, key).update(text);
const json = { "content-type": "application/json" };
const found = (id: string) => running.ledger.findByProviderId(providerIdQuery(route, id));
const replayed = ({ text }: { text: string }) => (JSON.parse(text) as { replayed: boolean }).replayed;

/** As Mailgun signs: the timestamp and a token, and nothing of the event. */
function mailgun(token: string, event: object) {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = hmac("sha256", SECRET, timestamp + token).digest("hex");
  return { body: JSON.stringify({ signature: { timestamp, token, signature }, "event-data": event }), headers: json };
}

describe("a signature that does not cover the body", () => {
  const token = "a".repeat(50);

  test("is good for one body, which may come again", async () => {
    await serve("mailgun");
    const first = mailgun(token, { id: "ev-1", event: "delivered" });
    expect((await sendTo(running, first)).status).toBe(200);
    expect(replayed(await sendTo(running, first))).toBe(true);
    const other = { ...first, body: first.body.replace("delivered", "opened") };
    const refused = await sendTo(running, other);
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining("SignatureReused")]);
    expect(await keptEvents(running.operations, ROUTE)).toHaveLength(1);
  });

  const DAY = 86_400_000;
  const dedupe = (changes: Partial<RouteEntry["dedupe"]>) => {
    const { dedupe: own } = providerRoute("mailgun");
    return { dedupe: { ...own, ...changes } };
  };

  test("is remembered as long as it is good, however short the route's windows are", async () => {
    await serve("mailgun", dedupe({ windowMs: 100, weakWindowMs: 100 }));
    const first = mailgun(token, { id: "ev-1", event: "delivered" });
    expect((await sendTo(running, first)).status).toBe(200);
    await sleep(300);
    const others = ["opened", "clicked"].map((event) => first.body.replace("delivered", event));
    const answers = await Promise.all(
      [...others, others[0]?.replace("id", "no")].map((body) => sendTo(running, { ...first, body: body ?? "" })),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  test.each([
    ["longer", { windowMs: 7 * DAY, earlierWindows: [{ windowMs: DAY, until: Date.now() + DAY }] }],
    ["shorter", { windowMs: DAY, earlierWindows: [] }],
  ])("is known after the route's window was made %s, also where the other body has no id", async (_how, edited) => {
    await serve("mailgun", dedupe({ windowMs: 3 * DAY }));
    const first = mailgun(token, { id: "ev-1", event: "delivered" });
    await sendTo(running, first);
    await running.close();
    await serve("mailgun", dedupe(edited));
    const others = [first.body.replace("ev-1", "ev-2"), first.body.replace('"id"', '"no"')];
    const answers = await Promise.all(others.map((body) => sendTo(running, { ...first, body })));
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  });

  test("is good for one of many bodies that come at once", async () => {
    await serve("mailgun");
    const one = mailgun(token, { id: "ev-1", number: 1_000 });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        sendTo(running, { ...one, body: one.body.replace("1000", String(2_000 + n)) }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(29);
  });
});

describe("a body that is nested deeply, with an id that a double rounds", () => {
  const deep = (id: string) => `{"id":${id},"x":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
  const stripe = (body: string, secret: string) => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const v1 = hmac("sha256", secret, `${timestamp}.${body}`).digest("hex");
    return { body, headers: { ...json, "stripe-signature": `t=${timestamp},v1=${v1}` } };
  };

  test("is accepted when it is signed, under its exact id, and refused with a trace when it is not", async () => {
    await serve("stripe");
    const ids = ["9007199254740992", "9007199254740993", "1.5"];
    for (const id of ids) expect((await sendTo(running, stripe(deep(id), SECRET))).status).toBe(route.response.status);
    expect(replayed(await sendTo(running, stripe(deep(ids[1] ?? ""), SECRET)))).toBe(true);
    expect(await keptEvents(running.operations, ROUTE)).toHaveLength(3);
    expect((await sendTo(running, stripe(deep("1.5"), "wrong"))).status).toBe(401);
    await expect
      .poll(() => running.ledger.rejections(ROUTE))
      .toMatchObject([{ reason: "SignatureMismatch", bodyBytes: deep("1.5").length }]);
    expect(running.log()).not.toContain("could not be handled");
  });
});

describe("an event is found by its provider's id", () => {
  test("which is signed: by its mark, with its repetitions", async () => {
    await serve("stripe");
    const body = '{"id":"evt_1","type":"invoice.paid"}';
    for (const timestamp of [0, 1].map((ago) => Math.floor(Date.now() / 1_000) - ago)) {
      const v1 = hmac("sha256", SECRET, `${timestamp}.${body}`).digest("hex");
      await sendTo(running, { body, headers: { ...json, "stripe-signature": `t=${timestamp},v1=${v1}` } });
    }
    const [event] = await keptEvents(running.operations, ROUTE);
    expect(await found("evt_1")).toMatchObject([{ eventId: event?.id, event: { duplicates: 1 } }]);
    expect(await found("evt_2")).toEqual([]);
  });

  test("which is not signed: every body that came under it", async () => {
    await serve("github");
    for (const body of ["{}", "[]"]) {
      const signature = `sha256=${hmac("sha256", SECRET, body).digest("hex")}`;
      await sendTo(running, {
        body,
        headers: { ...json, "x-hub-signature-256": signature, "x-github-delivery": "d-1" },
      });
    }
    expect(await found("d-1")).toHaveLength(2);
  });

  test("which is not signed and in no header: it is kept with the event", async () => {
    await serve("mailgun");
    await sendTo(running, mailgun("b".repeat(50), { id: "ev-1" }));
    await sendTo(running, mailgun("c".repeat(50), { id: "ev-1", attempt: 2 }));
    expect(await found("ev-1")).toHaveLength(2);
  });

  test("which was refused: by its hash in the trace", async () => {
    await serve("stripe");
    const body = '{"id":"evt_1"}';
    await sendTo(running, {
      body,
      headers: { ...json, "stripe-signature": `t=${Math.floor(Date.now() / 1_000)},v1=${"0".repeat(64)}` },
    });
    await sendTo(running, { body: "no JSON", headers: { ...json } });
    const hashes = (await running.ledger.rejections(ROUTE)).map(({ reason, idHash }) => [reason, idHash]);
    expect(hashes).toEqual([
      ["HeaderMissing", undefined],
      ["SignatureMismatch", providerIdHash("evt_1")],
    ]);
    expect(running.log()).not.toContain("evt_1");
  });
});

describe("events without an id", () => {
  const signed = (body: string, age = 0) => {
    const timestamp = String(Math.floor(Date.now() / 1_000) - age);
    const signature = `v0=${hmac("sha256", SECRET, `v0:${timestamp}:${body}`).digest("hex")}`;
    return { body, headers: { ...json, "x-zm-request-timestamp": timestamp, "x-zm-signature": signature } };
  };

  test("are told by their body where each attempt is signed anew, and counted", async () => {
    await serve("zoom");
    await sendTo(running, signed('{"event":"meeting.started","event_ts":1}', 2));
    await sendTo(running, signed('{"event":"meeting.started","event_ts":1}', 1));
    await sendTo(running, signed('{"event":"meeting.started","event_ts":2}'));
    expect(await keptEvents(running.operations, ROUTE)).toHaveLength(2);
    expect(await running.metrics.registry.metrics()).toMatch(/davit_dedupe_without_id_total\{[^}]*\} 3/);
  });

  test("are all events where equal bodies are different ones", async () => {
    await serve("dropbox");
    const body = '{"list_folder":{"accounts":["dbid:1"]}}';
    const headers = { ...json, "x-dropbox-signature": hmac("sha256", SECRET, body).digest("hex") };
    for (let n = 0; n < 3; n++) expect((await sendTo(running, { body, headers })).status).toBe(200);
    expect(await keptEvents(running.operations, ROUTE)).toHaveLength(3);
  });
});

describe("the answer that a provider demands", () => {
  test("to a notification of Adyen is [accepted], new or not", async () => {
    const key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    await serve("adyen", { keys: [keyFor("Signing", key)] });
    const fields = {
      pspReference: "7914073381342284",
      merchantAccountCode: "TestMerchant",
      merchantReference: "TestPayment-1",
      eventCode: "AUTHORISATION",
      success: "true",
    };
    const content = [
      fields.pspReference,
      "",
      fields.merchantAccountCode,
      fields.merchantReference,
      "1130",
      "EUR",
      fields.eventCode,
      fields.success,
    ].join(":");
    const item = {
      ...fields,
      amount: { value: 1_130, currency: "EUR" },
      additionalData: { hmacSignature: hmac("sha256", Buffer.from(key, "hex"), content).digest("base64") },
    };
    const body = JSON.stringify({ live: "false", notificationItems: [{ NotificationRequestItem: item }] });
    for (let n = 0; n < 2; n++) {
      const answer = await sendTo(running, { body, headers: json });
      expect(answer).toMatchObject({
        status: 200,
        text: "[accepted]",
        headers: { "content-type": "text/plain", "content-length": "10" },
      });
      expect(answer.headers["davit-event-id"]).toMatch(/^[0-9A-Z]{26}$/);
    }
    expect(await keptEvents(running.operations, ROUTE)).toMatchObject([{ duplicates: 1 }]);
    expect(await found("7914073381342284")).toHaveLength(1);
  });

  test("to an event of Xero is 200 with nothing in it, and 401 with a wrong signature", async () => {
    await serve("xero");
    const body =
      '{"events":[{"resourceId":"1"}],"firstEventSequence":1,"lastEventSequence":1,"entropy":"S0m3r4Nd0mt3xt"}';
    const signature = hmac("sha256", SECRET, body).digest("base64");
    expect(await sendTo(running, { body, headers: { ...json, "x-xero-signature": signature } })).toMatchObject({
      status: 200,
      text: "",
    });
    expect(
      (await sendTo(running, { body: `${body} `, headers: { ...json, "x-xero-signature": signature } })).status,
    ).toBe(401);
  });

  test("is due within a time that is a metric", async () => {
    await serve("slack");
    running.gateway.update([route]);
    expect(await running.metrics.registry.metrics()).toContain(
      'davit_ack_budget_seconds{namespace="shop",route="push"} 3',
    );
    running.gateway.update([]);
    expect(await running.metrics.registry.metrics()).not.toContain("davit_ack_budget_seconds{");
  });
});

test("a gateway tells of requests whose signature did not match, and of slow answers", async () => {
  await serve("slack");
  await sendTo(running, {
    body: "{}",
    headers: { ...json, "x-slack-request-timestamp": "1", "x-slack-signature": "v0=00" },
  });
  expect(running.gateway.observations()).toEqual([{ key: ROUTE, requests: 1, verified: 0, refused: 1, slow: 0 }]);
});
