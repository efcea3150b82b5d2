import { createHash, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SECRET } from "../../src/gateway/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { sendTo } from "../support/gateway.ts";
import { type GatewayOverRedis, keyFor, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

// What a provider repeats is one event, what it says again is another, and what somebody else makes of a delivery he saw is none.

const PUBLIC_URL = "https://hooks.example.com/push";
const ADYEN_KEY = "aa".repeat(32);
const JSON_TYPE = { "content-type": "application/json" };
const FORM_TYPE = { "content-type": "application/x-www-form-urlencoded" };
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

let redis: TestRedis;
let number = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});

function mac(text: string, algorithm = "sha256", encoding: "hex" | "base64" = "hex", key: string | Buffer = SECRET) {
  return createHmac(algorithm, key).update(text).digest(encoding);
}

interface Sent {
  readonly body: string;
  readonly headers?: Record<string, string>;
}

/** Statuses of requests to a fresh route, one behind the other, and how many events came of them. */
async function outcome(
  provider: string,
  sent: readonly Sent[],
  changes: Partial<RouteEntry> = {},
): Promise<{ readonly statuses: readonly number[]; readonly events: number }> {
  number += 1;
  const route = { ...providerRoute(provider, changes), route: number.toString(16).padStart(16, "0") };
  const material = { obtain: ({ id }: { id: string }) => Promise.resolve({ id, publicKey }) };
  const gateway: GatewayOverRedis = await startGatewayOverRedis(redis, [route], { material });
  try {
    const statuses: number[] = [];
    for (const { body, headers = JSON_TYPE } of sent) {
      const answer = await sendTo(gateway, { body, headers });
      statuses.push(answer.status);
    }
    return { statuses, events: (await keptEvents(gateway.operations, route.route)).length };
  } finally {
    await gateway.close();
  }
}

function mailgun(token: string, event: object, secondsAgo = 0): Sent {
  const timestamp = String(Math.floor(Date.now() / 1_000) - secondsAgo);
  const signature = { timestamp, token, signature: mac(timestamp + token) };
  return { body: JSON.stringify({ signature, "event-data": event }) };
}

function linear(at: number, title = "a"): Sent {
  const body = JSON.stringify({ action: "update", data: { title }, webhookTimestamp: at });
  return { body, headers: { ...JSON_TYPE, "linear-delivery": "d-1", "linear-signature": mac(body) } };
}

function plaid(secondsAgo: number): Sent {
  const body = '{"item_id":"wz666","webhook_code":"SYNC_UPDATES_AVAILABLE","webhook_type":"TRANSACTIONS"}';
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const iat = Math.floor(Date.now() / 1_000) - secondsAgo;
  const claims = { iat, request_body_sha256: createHash("sha256").update(body).digest("hex") };
  const input = `${encode({ alg: "ES256", kid: "k1", typ: "JWT" })}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return { body, headers: { ...JSON_TYPE, "plaid-verification": `${input}.${signature.toString("base64url")}` } };
}

function paystack(status: string): Sent {
  const body = JSON.stringify({ event: "charge.dispute.remind", data: { id: 1, status } });
  return { body, headers: { ...JSON_TYPE, "x-paystack-signature": mac(body, "sha512") } };
}

function adyenItem(pspReference: string): object {
  const text = `${pspReference}::M:r:1000:EUR:AUTHORISATION:true`;
  const hmacSignature = mac(text, "sha256", "base64", Buffer.from(ADYEN_KEY, "hex"));
  const amount = { value: 1000, currency: "EUR" };
  const fields = { pspReference, merchantAccountCode: "M", merchantReference: "r", amount };
  return {
    NotificationRequestItem: {
      ...fields,
      eventCode: "AUTHORISATION",
      success: "true",
      additionalData: { hmacSignature },
    },
  };
}

describe("deliveries that are repeated", () => {
  it("with a new signature in the body are one event", async () => {
    const sent = [mailgun("t1", { id: "e" }, 3_600), mailgun("t2", { id: "e" }), mailgun("t3", { id: "f" })];
    expect(await outcome("mailgun", sent)).toEqual({ statuses: [200, 200, 200], events: 2 });
  });

  it("with a new time in the body, or the old one hours later, are one event", async () => {
    const now = Date.now();
    const sent = [linear(now), linear(now + 5), linear(now - 7 * 3_600_000), linear(now, "b")];
    expect(await outcome("linear", sent)).toEqual({ statuses: [200, 200, 200, 200], events: 2 });
  });

  it("with a time as old as no repetition is are refused", async () => {
    const sent = [mailgun("t1", { id: "e" }, 9 * 3_600), linear(Date.now() - 9 * 3_600_000)];
    expect((await outcome("mailgun", sent.slice(0, 1))).statuses).toEqual([401]);
    expect((await outcome("linear", sent.slice(1))).statuses).toEqual([401]);
  });
});

describe("events that look alike", () => {
  it("are all kept where the provider gives them neither id nor time", async () => {
    const changes = { parameters: { clientId: "abc" }, keys: [keyFor("ApiCredential", "s")] };
    expect(await outcome("plaid", [plaid(200), plaid(10)], changes)).toEqual({ statuses: [200, 200], events: 2 });
  });

  it("are told apart by their bodies where the id is that of a thing", async () => {
    const sent = [paystack("pending"), paystack("resolved"), paystack("resolved")];
    expect(await outcome("paystack", sent)).toEqual({ statuses: [200, 200, 200], events: 2 });
  });

  it("and have one token, for they are of one second, are all kept", async () => {
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const input = `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ exp: Math.floor(Date.now() / 1_000) + 300 })}`;
    const token = `${input}.${createHmac("sha256", SECRET).update(input).digest("base64url")}`;
    const headers = { ...JSON_TYPE, authorization: token };
    const sent = [1, 2, 3].map((one) => ({ body: `{"event":{"triggerUuid":"u${one}"}}`, headers }));
    expect(await outcome("monday", sent)).toEqual({ statuses: [200, 200, 200], events: 3 });
  });
});

describe("a delivery that somebody saw and changed where no signature covers it", () => {
  it("is no new event of Exact Online", async () => {
    const content = '{"Topic":"Accounts","Action":"Update"}';
    const code = mac(content).toUpperCase();
    const sent = ["", "\n", "\f"].map((blank) => ({ body: `{${blank}"Content":${content},"HashCode":"${code}"}` }));
    expect(await outcome("exact-online", sent)).toEqual({ statuses: [200, 401, 400], events: 1 });
  });

  it("is no new event of Twilio", async () => {
    const signature = mac(`${PUBLIC_URL}MessageSidSM1To+1`, "sha1", "base64");
    const headers = { ...FORM_TYPE, "x-twilio-signature": signature };
    const bodies = [
      "MessageSid=SM1&To=%2B1",
      "MessageSid=SM1&To=%2B1",
      "To=%2B1&MessageSid=SM1",
      "MessageSidS=M1&To=%2B1",
    ];
    const sent = bodies.map((body) => ({ body, headers }));
    const { statuses, events } = await outcome("twilio", sent, { publicUrl: PUBLIC_URL });
    expect({ statuses, events }).toEqual({ statuses: [200, 200, 401, 401], events: 1 });
  });

  it("is no new notification of Adyen", async () => {
    const [one, other] = [adyenItem("p1"), adyenItem("p2")];
    const bodies = [
      { notificationItems: [one, other] },
      { notificationItems: [other, one] },
      { notificationItems: [one, other], live: "true", x: 1 },
      { notificationItems: [one, one] },
    ];
    const sent = bodies.map((body) => ({ body: JSON.stringify(body) }));
    const { statuses, events } = await outcome("adyen", sent, { keys: [keyFor("Signing", ADYEN_KEY)] });
    expect({ statuses, events }).toEqual({ statuses: [200, 200, 200, 401], events: 1 });
  });
});
