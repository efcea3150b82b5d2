import { generateKeyPairSync, hash, randomUUID, sign } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FetchError, type FetchRequest, type FetchResponse } from "../../src/egress/guarded-fetch.ts";
import { makeCertificate } from "../../src/gateway/material/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { sendTo } from "../support/gateway.ts";
import { keyFor, type GatewayOverRedis, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";
import { keptEvents } from "../support/kept-events.ts";

const TOPIC = "arn:aws:sns:us-east-1:123456789012:orders";
const CERTIFICATE_URL = "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";
const SUBSCRIBE_URL =
  "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37fb687f5d51e6e2425e";
const root = makeCertificate({
  name: "Root",
  isAuthority: true,
  keys: generateKeyPairSync("rsa", { modulusLength: 2_048 }),
});
const leaf = makeCertificate({ name: "sns.amazonaws.com", dnsNames: ["sns.amazonaws.com"], issuer: root });
const jwk = generateKeyPairSync("ec", { namedCurve: "P-256" });

let redis: TestRedis;
let running: GatewayOverRedis;
let asked: FetchRequest[];
let network: (request: FetchRequest) => FetchResponse | Promise<FetchResponse>;
beforeEach(async () => {
  redis = await startRedis();
  asked = [];
  network = ({ url }) => ({ status: 200, body: Buffer.from(url === CERTIFICATE_URL ? leaf.pem : "<ok/>") });
});
afterEach(async () => {
  await running.close();
  await redis.stop();
});

async function serve(provider: string, changes: Partial<RouteEntry>): Promise<GatewayOverRedis> {
  running = await startGatewayOverRedis(redis, [providerRoute(provider, changes)], {
    roots: [root.pem],
    fetch: async (request) => {
      asked.push(request);
      return await network(request);
    },
  });
  return running;
}

/** A message as SNS signs it, version 2. */
function sns(fields: Record<string, string> = {}, changes: Record<string, string> = {}) {
  const message: Record<string, string> = {
    Message: "hello",
    MessageId: randomUUID(),
    Timestamp: new Date().toISOString(),
    TopicArn: TOPIC,
    Type: "Notification",
    ...fields,
  };
  const content = Object.keys(message)
    .toSorted()
    .map((name) => `${name}\n${message[name]}\n`)
    .join("");
  const Signature = sign("sha256", Buffer.from(content), leaf.privateKey).toString("base64");
  const body = { ...message, SignatureVersion: "2", SigningCertURL: CERTIFICATE_URL, Signature, ...changes };
  return { body: JSON.stringify(body), headers: { "content-type": "text/plain; charset=UTF-8" } };
}
const confirmation = () =>
  sns({ Type: "SubscriptionConfirmation", SubscribeURL: SUBSCRIBE_URL, Token: "2336412f37fb687f5d51e6e2425e" });
const SNS = { keys: [], parameters: { topicArn: TOPIC } };

describe("a message whose certificate lies at the provider", () => {
  test("is verified with it, which is fetched once for all messages", async () => {
    await serve("aws-sns", SNS);
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendTo(running, sns())));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await keptEvents(running.operations, "0123456789abcdef")).toHaveLength(20);
    expect(asked.map(({ url }) => url)).toEqual([CERTIFICATE_URL]);
  });

  test("is refused when it was changed, or comes from another topic", async () => {
    await serve("aws-sns", SNS);
    expect((await sendTo(running, sns({}, { Message: "bye" }))).status).toBe(401);
    expect((await sendTo(running, sns({ TopicArn: `${TOPIC}-2` }))).status).toBe(401);
  });

  test("makes no request to a host that is not the provider's", async () => {
    await serve("aws-sns", SNS);
    for (const url of [
      "https://sns.us-east-1.amazonaws.com.evil.example/a.pem",
      "http://sns.us-east-1.amazonaws.com/a.pem",
      "https://127.0.0.1/a.pem",
    ]) {
      expect((await sendTo(running, sns({}, { SigningCertURL: url }))).status).toBe(401);
    }
    expect(asked).toEqual([]);
  });

  test("is refused with a certificate that nobody vouches for", async () => {
    const forged = makeCertificate({ name: "sns.amazonaws.com", dnsNames: ["sns.amazonaws.com"] });
    network = () => ({ status: 200, body: Buffer.from(forged.pem) });
    const answer = await sendTo(await serve("aws-sns", SNS), sns());
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("CertificateUntrusted")]);
  });

  test("may come again when the certificate cannot be had, and is refused by no one else's fault", async () => {
    network = () => Promise.reject(new FetchError("ENOTFOUND"));
    const answer = await sendTo(await serve("aws-sns", SNS), sns());
    expect(answer).toMatchObject({
      status: 503,
      text: expect.stringContaining("MaterialUnavailable"),
      headers: { "retry-after": expect.stringMatching(/^\d+$/) },
    });
    expect(running.log()).toContain('"code":"ENOTFOUND"');
    expect(running.gateway.observations()).toMatchObject([{ requests: 1, refused: 0 }]);
  });
});

describe("a subscription of SNS", () => {
  test("is confirmed before it is answered, and is no event", async () => {
    await serve("aws-sns", SNS);
    expect((await sendTo(running, confirmation())).status).toBe(200);
    expect(asked.map(({ url }) => url)).toEqual([CERTIFICATE_URL, SUBSCRIBE_URL]);
    expect(asked[1]).toMatchObject({ timeoutMs: 5_000, maxBytes: 65_536 });
    expect(await keptEvents(running.operations, "0123456789abcdef")).toEqual([]);
    expect(running.log()).not.toContain("2336412f37fb687f5d51e6e2425e");
  });

  test("is confirmed once, however often its message is sent again", async () => {
    await serve("aws-sns", SNS);
    const message = confirmation();
    const answers = await Promise.all(Array.from({ length: 30 }, () => sendTo(running, message)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await sendTo(running, message)).status).toBe(200);
    expect(asked.filter(({ url }) => url === SUBSCRIBE_URL)).toHaveLength(1);
  });

  test.each([
    ["answers with 302", () => ({ status: 302, body: Buffer.alloc(0) })],
    ["answers with 500", () => ({ status: 500, body: Buffer.alloc(0) })],
    ["cannot be reached", () => Promise.reject(new FetchError("timeout"))],
    ["is not public", () => Promise.reject(new FetchError("EGRESS_FORBIDDEN"))],
  ])("is asked for again when its URL %s", async (_what, answer) => {
    await serve("aws-sns", SNS);
    const before = network;
    network = (request) => (request.url === SUBSCRIBE_URL ? answer() : before(request));
    const refused = await sendTo(running, confirmation());
    expect(refused).toMatchObject({
      status: 503,
      text: expect.stringContaining("HandshakeFailed"),
      headers: { "retry-after": expect.any(String) },
    });
    expect(running.log()).not.toContain("2336412f37fb687f5d51e6e2425e");
  });

  test("is not confirmed for somebody who cannot sign", async () => {
    await serve("aws-sns", SNS);
    const { body, headers } = confirmation();
    const forged = body.replace("hello", "hallo");
    expect((await sendTo(running, { body: forged, headers })).status).toBe(401);
    expect(asked.map(({ url }) => url)).toEqual([CERTIFICATE_URL]);
  });
});

describe("a token whose key lies at the provider", () => {
  const PLAID = { keys: [keyFor("ApiCredential", "client secret")], parameters: { clientId: "5bd9c7e3" } };
  const body = '{"webhook_type":"ITEM","webhook_code":"ERROR"}';
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  function plaid(kid = "key-1") {
    const signed = `${encode({ alg: "ES256", kid, typ: "JWT" })}.${encode({ iat: Math.floor(Date.now() / 1_000), request_body_sha256: hash("sha256", body) })}`;
    const signature = sign("sha256", Buffer.from(signed), { key: jwk.privateKey, dsaEncoding: "ieee-p1363" }).toString(
      "base64url",
    );
    return { body, headers: { "plaid-verification": `${signed}.${signature}`, "content-type": "application/json" } };
  }
  const answerOf = (expiredAt: number | null) => ({
    status: 200,
    body: Buffer.from(JSON.stringify({ key: { ...jwk.publicKey.export({ format: "jwk" }), expired_at: expiredAt } })),
  });

  test("is verified with the key that the route's credential may see", async () => {
    network = () => answerOf(null);
    await serve("plaid", PLAID);
    expect((await sendTo(running, plaid())).status).toBe(200);
    expect((await sendTo(running, plaid())).status).toBe(200);
    expect(asked.map(({ json }) => json)).toEqual([
      { client_id: "5bd9c7e3", secret: "client secret", key_id: "key-1" },
    ]);
    expect(running.log()).not.toContain("client secret");
  });

  test("is refused when the key has expired, or the provider knows none of that name", async () => {
    network = () => answerOf(1_700_000_000);
    await serve("plaid", PLAID);
    expect((await sendTo(running, plaid())).status).toBe(401);
    network = () => ({ status: 400, body: Buffer.from("{}") });
    expect((await sendTo(running, plaid("forged"))).status).toBe(401);
  });

  test("cannot be verified without a credential: that is our fault", async () => {
    network = () => answerOf(null);
    await serve("plaid", { ...PLAID, keys: [] });
    expect((await sendTo(running, plaid())).status).toBe(503);
    expect(asked).toEqual([]);
  });
});
