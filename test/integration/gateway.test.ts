import type { RequestListener } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { afterEach, describe, expect, it } from "vitest";
import type { CustodyErrorCode } from "../../src/custody/port.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import type { RouteVerification } from "../../src/verification/config.ts";
import { keysOf } from "../../src/verification/vectors.ts";
import { signAs } from "../../src/verification/verifier.ts";
import { destinationEntry, HEALTHY, HOST, ringKey, routeEntry, SECRET } from "../../src/gateway/testing.ts";
import { sendTo, startGateway, type Running } from "../support/gateway.ts";

const QUEUE_PUSH: RouteVerification = { type: "provider", provider: "queue-push" };
const GITHUB: RouteVerification = { type: "provider", provider: "github" };

let running: Running | undefined;
afterEach(async () => {
  await running?.gateway.close(0);
  running = undefined;
});

async function start(...args: Parameters<typeof startGateway>): Promise<Running> {
  running = await startGateway(...args);
  return running;
}

function post(
  gateway: Running,
  path: string,
  options: Omit<Parameters<typeof sendTo>[1], "path"> = {},
): ReturnType<typeof sendTo> {
  return sendTo(gateway, { ...options, path });
}

function signed(config: RouteVerification, body: string, id = "d-1", secret = SECRET): Record<string, string> {
  const input = { method: "POST", url: `https://${HOST}/push`, path: "/push", body: Buffer.from(body), id };
  return signAs(config, keysOf([secret]), input, Date.now());
}

function githubRoute(changes: Partial<RouteEntry> = {}): RouteEntry {
  return routeEntry({
    verification: GITHUB,
    dedupe: { ...routeEntry().dedupe, sources: [{ from: "header", name: "x-github-delivery", signed: false }] },
    payload: { format: "Any", requiredFields: [], eventTypeFrom: "header:X-GitHub-Event" },
    response: { status: 202 },
    ...changes,
  });
}

describe("an accepted request", () => {
  it("is answered with the route's status, its id and whether it was known, once it is claimed", async () => {
    const gateway = await start([githubRoute()]);
    const headers = { ...signed(GITHUB, "{}"), "content-type": "application/json", "x-github-event": "push" };
    const first = await post(gateway, "/push", { body: "{}", headers });
    const second = await post(gateway, "/push", { body: "{}", headers });
    const id = gateway.inbox.claimed[0]?.id;
    expect(first).toMatchObject({ status: 202, text: JSON.stringify({ id, replayed: false }) });
    expect(second).toMatchObject({ status: 202, text: JSON.stringify({ id, replayed: true }) });
    expect(first.headers["davit-event-id"]).toBe(id);
    expect(gateway.inbox.claimed).toHaveLength(1);
    expect(gateway.inbox.claimed[0]).toMatchObject({ eventType: "push", seq: 7, body: Buffer.from("{}") });
  });

  it("has no body with 204", async () => {
    const gateway = await start([routeEntry()]);
    const answer = await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") });
    expect(answer).toMatchObject({ status: 204, text: "" });
    expect(answer.headers["davit-event-id"]).toBe(gateway.inbox.claimed[0]?.id);
  });

  it("keeps what is forwarded and shown, and no secret, signature or hop-by-hop header", async () => {
    const destination = destinationEntry("orders", {
      forwardHeaders: ["X-Team", "Authorization", "X-Hub-Signature-256", "X-Hop", "Cookie"],
    });
    const gateway = await start([githubRoute({ destinations: [destination] })]);
    const headers = {
      ...signed(GITHUB, "{}"),
      "content-type": "application/json",
      "x-team": "payments",
      "x-other": "no",
      "x-hop": "no",
      connection: "close, X-Hop",
      authorization: "Bearer secret",
      cookie: "a=b",
    };
    await post(gateway, "/push", { body: "{}", headers });
    expect(gateway.inbox.claimed[0]?.headers).toEqual({
      "content-type": "application/json",
      "x-team": "payments",
      "x-github-delivery": "d-1",
    });
  });

  it("keeps the signature it has verified where a handler gets the events, whatever the sender calls so", async () => {
    const handler = destinationEntry("own", { target: { type: "handler" }, forwardHeaders: ["*"] });
    const gateway = await start([githubRoute({ destinations: [handler] })]);
    const headers: Record<string, string> = { ...signed(GITHUB, "{}"), "davit-signature": "made up" };
    await post(gateway, "/push", { body: "{}", headers });
    const digest = /[0-9a-f]{64}/.exec(headers["x-hub-signature-256"] ?? "")?.[0] ?? "no signature";
    expect(gateway.inbox.claimed[0]?.headers).toMatchObject({ "davit-signature": digest });
    expect(gateway.inbox.claimed[0]?.headers).not.toHaveProperty("x-hub-signature-256");
  });

  it("reads a chunked body and waits for 100 Continue when asked", async () => {
    const gateway = await start([routeEntry()]);
    const headers = Object.entries(signed(QUEUE_PUSH, '{"a":1}')).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST /push HTTP/1.1\r\nHost: ${HOST}\r\n${headers.join("")}Expect: 100-continue\r\n`;
    const answer = await gateway.raw(`${head}Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 204 /);
    expect(gateway.inbox.claimed[0]?.body.toString()).toBe('{"a":1}');
  });

  it("may name its host in the request target", async () => {
    const gateway = await start([routeEntry()]);
    const headers = Object.entries(signed(QUEUE_PUSH, "{}")).map(([name, value]) => `${name}: ${value}\r\n`);
    const answer = await gateway.raw(
      `POST http://HOOKS.example.com:80/push?a=b HTTP/1.1\r\nHost: wrong.example\r\n${headers.join("")}Content-Length: 2\r\n\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 204 /);
  });

  it("goes to the destinations whose filter matches its type, and is recorded when none does", async () => {
    const gateway = await start([
      githubRoute({
        destinations: [
          destinationEntry("all"),
          destinationEntry("orders", { eventTypes: ["order.*"] }),
          destinationEntry("exact", { eventTypes: ["order"] }),
        ],
      }),
      githubRoute({
        path: "/none",
        route: "1".repeat(16),
        destinations: [destinationEntry("x", { eventTypes: ["x"] })],
      }),
    ]);
    const send = (path: string, type: string) =>
      post(gateway, path, { body: type, headers: { ...signed(GITHUB, type, type), "x-github-event": type } });
    await send("/push", "order.created");
    await send("/push", "order");
    await send("/none", "y");
    const names = gateway.inbox.claimed.map((event) =>
      event.destinations.map(({ destination }) => destination.slice(17)),
    );
    expect(names).toEqual([["all", "orders"], ["all", "exact"], []]);
  });

  it("is a new event when an unsigned id comes with another body, and one event in any case of hex", async () => {
    const gateway = await start([routeEntry()]);
    for (const body of ["{}", "[]"]) await post(gateway, "/push", { body, headers: signed(QUEUE_PUSH, body) });
    const headers = signed(QUEUE_PUSH, "{}");
    const upper = headers["x-delivery-signature"]?.replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase()) ?? "";
    await post(gateway, "/push", { body: "{}", headers: { ...headers, "x-delivery-signature": upper } });
    expect(gateway.inbox.claimed).toHaveLength(2);
  });

  it("has a weak mark of signature and body when there is no id, in one form for any case of hex", async () => {
    const hmac = {
      type: "hmac",
      header: "x-signature",
      algorithm: "sha256",
      encoding: "hex",
      prefix: "sha256=",
      signedContent: "{body}",
    } as const;
    const earlierWindows = [{ windowMs: 60_000, until: Date.now() + 60_000 }];
    const dedupe = { ...routeEntry().dedupe, sources: [], earlierWindows };
    const gateway = await start([routeEntry({ verification: hmac, dedupe })]);
    const headers = signed(hmac, "{}");
    const upper = headers["x-signature"]?.replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase()) ?? "";
    await post(gateway, "/push", { body: "{}", headers });
    await post(gateway, "/push", { body: "{}", headers: { "x-signature": upper } });
    expect(gateway.inbox.claimed).toHaveLength(1);
    expect(gateway.inbox.claimed[0]).toMatchObject({
      mark: { weak: true },
      policy: { windowMs: 600_000, earlierWindows },
    });
  });

  it("answers a redelivery that revived dead copies as replayed, and counts it", async () => {
    const gateway = await start([routeEntry()]);
    const headers = signed(QUEUE_PUSH, "{}");
    await post(gateway, "/push", { body: "{}", headers });
    gateway.inbox.reviving = true;
    await post(gateway, "/push", { body: "{}", headers });
    const text = await gateway.metrics.registry.metrics();
    expect(text).toContain('davit_replayed_total{namespace="shop",route="push"} 1');
  });

  it("takes svix-id and webhook-id for the same id", async () => {
    const config: RouteVerification = { type: "provider", provider: "standard-webhooks" };
    const secret = Buffer.from(SECRET).toString("base64");
    const gateway = await start([
      routeEntry({
        verification: config,
        keys: [ringKey(secret)],
        dedupe: { ...routeEntry().dedupe, sources: [{ from: "header", name: "webhook-id", signed: true }] },
      }),
    ]);
    const headers = signed(config, "{}", "msg_1", secret);
    const svix = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace("webhook-", "svix-"), value]),
    );
    expect(await post(gateway, "/push", { body: "{}", headers })).toMatchObject({ status: 204 });
    expect(await post(gateway, "/push", { body: "{}", headers: svix })).toMatchObject({ status: 204 });
    expect(gateway.inbox.claimed).toHaveLength(1);
    expect(gateway.inbox.claimed[0]?.mark?.bodyHash).toBeUndefined();
  });
});

describe("when the store does not take an event", () => {
  it.each([
    "Unreachable",
    "Timeout",
    "ReadOnly",
    "NoReplicas",
    "OutOfMemory",
    "Loading",
    "NotDurable",
    "Script",
  ] satisfies CustodyErrorCode[])("answers 503 with Retry-After on %s", async (code) => {
    const gateway = await start([routeEntry()]);
    gateway.inbox.fault = code;
    const answer = await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  });

  it("answers 503 when it does not answer in time, and on a fault of our own", async () => {
    const gateway = await start([routeEntry()], { claimTimeoutMs: 50 });
    for (const fault of ["hang", "bug"] as const) {
      gateway.inbox.fault = fault;
      expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
        status: 503,
      });
    }
    gateway.inbox.fault = undefined;
    expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
      status: 204,
    });
  });

  it.each([
    ["down", { ...HEALTHY, up: false }],
    [
      "not durable",
      { ...HEALTHY, durable: { ok: false, source: "volatile", problems: ["appendonly is off"] } as const },
    ],
    ["at 85 % of its memory", { ...HEALTHY, memoryRatio: 0.85 }],
  ])("answers 503 before the body is read when it is %s", async (_case, health) => {
    const gateway = await start([routeEntry()], { health: () => health });
    const answer = await gateway.raw(`POST /push HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 9\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 503 [^]*retry-after: \d+/i);
  });
});

describe("limits, decided before the body is read", () => {
  const limits = routeEntry().limits;
  const head = `POST /push HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 9\r\n\r\n`;

  it("answers 429 with Retry-After over the rate of the route", async () => {
    const rateLimit = { requests: 1, perMs: 60_000, burst: 2, by: "Route" } as const;
    const gateway = await start([routeEntry({ limits: { ...limits, rateLimit } })]);
    const headers = signed(QUEUE_PUSH, "{}");
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(await post(gateway, "/push", { body: "{}", headers }));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 429]);
    expect(Number(answers[2]?.headers["retry-after"])).toBeGreaterThan(50);
  });

  it("counts a rate by SourceIP for each client behind a trusted proxy", async () => {
    const rateLimit = { requests: 1, perMs: 60_000, burst: 1, by: "SourceIP" } as const;
    const gateway = await start([routeEntry({ limits: { ...limits, rateLimit } })], {
      trustedProxies: ["127.0.0.0/8"],
    });
    const from = (client: string) =>
      post(gateway, "/push", { body: "{}", headers: { ...signed(QUEUE_PUSH, "{}"), "x-forwarded-for": client } });
    const statuses = [];
    for (const client of ["192.0.2.1", "192.0.2.2", "203.0.113.9, 192.0.2.1", "2001:db8::1", "2001:db8::2"]) {
      statuses.push((await from(client)).status);
    }
    expect(statuses).toEqual([204, 204, 429, 204, 429]);
  });

  it("answers 429 while too many are in flight, and gives their places back", async () => {
    const gateway = await start([routeEntry({ limits: { ...limits, maxInFlightPerPod: 1 } })], { claimTimeoutMs: 150 });
    gateway.inbox.fault = "hang";
    const waiting = post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") });
    await sleep(50);
    expect(await gateway.raw(head)).toMatch(/^HTTP\/1.1 429 /);
    expect(await waiting).toMatchObject({ status: 503 });
    gateway.inbox.fault = undefined;
    expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
      status: 204,
    });
  });

  it("gives the place of an aborted request back", async () => {
    const gateway = await start([routeEntry({ limits: { ...limits, maxInFlightPerPod: 1 } })]);
    await gateway.raw(head, { quietMs: 30 });
    await sleep(30);
    expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
      status: 204,
    });
  });

  it("answers 429 while the backlog is at its limit", async () => {
    const gateway = await start([routeEntry({ limits: { ...limits, maxBacklog: 5 } })], { backlog: () => 5 });
    expect(await gateway.raw(head)).toMatch(/^HTTP\/1.1 429 [^]*retry-after: \d+/i);
  });

  it("answers 403 to an address outside the allowed ranges", async () => {
    const gateway = await start([routeEntry({ allowedSourceRanges: ["192.0.2.0/24"] })]);
    expect(await gateway.raw(head)).toMatch(/^HTTP\/1.1 403 /);
  });

  it("takes an address within them for a condition beside the signature, and believes trusted proxies only", async () => {
    const routes = [routeEntry({ allowedSourceRanges: ["192.0.2.0/24", "2001:db8::/32"] })];
    const statuses = async (trustedProxies: readonly string[]) => {
      const gateway = await start(routes, { trustedProxies });
      const from = async (client: string, secret = SECRET) => {
        const headers = { ...signed(QUEUE_PUSH, "{}", "d-1", secret), "x-forwarded-for": client };
        const answer = await post(gateway, "/push", { body: "{}", headers });
        return answer.status;
      };
      return [
        await from("192.0.2.7"),
        await from("2001:db8::7"),
        await from("192.0.2.7", "another secret"),
        await from("203.0.113.9"),
        await from("192.0.2.7, 203.0.113.9"),
        await from("nobody"),
      ];
    };
    expect(await statuses(["127.0.0.0/8"])).toEqual([204, 204, 401, 403, 403, 403]);
    await running?.gateway.close(0);
    expect(await statuses([])).toEqual([403, 403, 403, 403, 403, 403]);
  });

  it("says when to come again with every 503, also where another reason is answered so", async () => {
    const gateway = await start([routeEntry()], { statuses: { SignatureMismatch: 503 } });
    const answer = await post(gateway, "/push", {
      body: "{}",
      headers: signed(QUEUE_PUSH, "{}", "d-1", "another secret"),
    });
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
  });
});

describe("routes that are not there", () => {
  it("answers 503 for one that vanished, is suspended or cannot be used, so that no sender drops it", async () => {
    const suspended = routeEntry({ suspend: "Ingest" });
    const unusable = routeEntry({ verification: { type: "provider", provider: "nobody" } });
    for (const found of ["vanished", suspended, unusable] as const) {
      const gateway = await start([], { table: { lookup: () => found } });
      const answer = await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") });
      expect([answer.status, Number(answer.headers["retry-after"]) > 0]).toEqual([503, true]);
      await gateway.gateway.close(0);
    }
  });

  it("still takes events while only delivery is suspended", async () => {
    const gateway = await start([routeEntry({ suspend: "Delivery" })]);
    expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
      status: 204,
    });
  });

  it("leaves everything else to the app behind it", async () => {
    const app = express();
    app.get("/hello", (_request, response) => void response.json({ hello: true }));
    const gateway = await start([routeEntry()], { app: app as RequestListener });
    expect(await post(gateway, "/hello", { method: "GET" })).toMatchObject({ status: 200, text: '{"hello":true}' });
    expect(await post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).toMatchObject({
      status: 204,
    });
  });
});

describe("what is left of a request", () => {
  it("is a trace of names and hashes when it was refused, never a value", async () => {
    const gateway = await start([routeEntry()]);
    const headers = { ...signed(QUEUE_PUSH, "[]"), "x-private": "do-not-keep" };
    await post(gateway, "/push", { body: "{}", headers });
    const [rejection] = gateway.inbox.rejections;
    expect(rejection).toMatchObject({
      route: "0123456789abcdef",
      client: "127.0.0.1",
      status: 401,
      reason: "SignatureMismatch",
      bodyBytes: 2,
      bodySha256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    });
    expect(rejection?.headerNames).toContain("x-private");
    expect(JSON.stringify(rejection)).not.toContain("do-not-keep");
  });

  it("is bounded to 50 traces a second in a flood", async () => {
    const gateway = await start([routeEntry()], { clock: { now: () => Date.now(), monotonic: () => 0 } });
    await Promise.all(Array.from({ length: 80 }, () => post(gateway, "/push", { body: "{}" })));
    expect(gateway.inbox.rejections).toHaveLength(50);
  });

  it("is counted by outcome and by the key that matched", async () => {
    const key = ringKey("other-secret");
    const gateway = await start([routeEntry({ keys: [key, { ...ringKey(SECRET), id: "1", state: "previous" }] })]);
    const headers = signed(QUEUE_PUSH, "{}");
    await post(gateway, "/push", { body: "{}", headers });
    await post(gateway, "/push", { body: "{}", headers });
    await post(gateway, "/push", { body: "[]", headers });
    const text = await gateway.metrics.registry.metrics();
    for (const line of [
      'davit_ingest_requests_total{namespace="shop",route="push",outcome="accepted"} 1',
      'davit_ingest_requests_total{namespace="shop",route="push",outcome="duplicate"} 1',
      'davit_ingest_requests_total{namespace="shop",route="push",outcome="unauthenticated"} 1',
      'davit_verifications_total{namespace="shop",route="push",result="ok",key="previous"} 2',
      'davit_verifications_total{namespace="shop",route="push",result="ok",key="current"} 0',
      'davit_verifications_total{namespace="shop",route="push",result="refused",key=""} 1',
      'davit_events_accepted_total{namespace="shop",route="push"} 1',
      'davit_duplicates_total{namespace="shop",route="push"} 1',
      'davit_ingest_age_seconds_count{namespace="shop",route="push"} 2',
      'davit_ingest_duration_seconds_count{namespace="shop",route="push"} 3',
    ]) {
      expect(text.split("\n")).toContain(line);
    }
  });
});

describe("the life of a gateway", () => {
  it("shows the series of a route at 0 from its start, and none once it is gone", async () => {
    const entry = routeEntry();
    const { gateway, metrics } = await start([entry]);
    gateway.update([entry]);
    const text = await metrics.registry.metrics();
    expect(text).toContain('davit_ingest_requests_total{namespace="shop",route="push",outcome="accepted"} 0');
    expect(text).toContain('davit_verifications_total{namespace="shop",route="push",result="ok",key="next"} 0');
    gateway.update([]);
    expect(await metrics.registry.metrics()).not.toContain('route="push"');
    gateway.update([entry]);
    expect(await metrics.registry.metrics()).toContain('davit_events_accepted_total{namespace="shop",route="push"} 0');
  });

  it("takes requests that an app has matched itself, and answers 503 when that app has eaten the body", async () => {
    const entry = githubRoute();
    const app = express();
    const gateway = await start([], { app: app as RequestListener });
    app.post("/mine", (request, response) => gateway.gateway.ingest(request, response, entry, request.originalUrl));
    app.post("/eaten", express.raw({ type: () => true }), (request, response) =>
      gateway.gateway.ingest(request, response, entry),
    );
    const headers = signed(GITHUB, "{}");
    expect(await post(gateway, "/mine", { body: "{}", headers })).toMatchObject({ status: 202 });
    expect(await post(gateway, "/eaten", { body: "{}", headers })).toMatchObject({ status: 503 });
    expect(gateway.inbox.claimed).toHaveLength(1);
  });

  it("is not ready without a durable store, with a wrong clock, or while it drains", async () => {
    let health = HEALTHY;
    const { gateway } = await start([], { health: () => health });
    expect(gateway.readiness()).toEqual({ ok: true, problems: [] });
    health = { ...HEALTHY, durable: { ok: false, source: "volatile", problems: ["appendonly is off"] } };
    expect(gateway.readiness()).toEqual({ ok: false, problems: ["the store is not durable: appendonly is off"] });
    health = { ...HEALTHY, clockOffsetMs: -31_000 };
    expect(gateway.readiness().ok).toBe(false);
    health = HEALTHY;
    gateway.drain();
    expect(gateway.readiness()).toEqual({ ok: false, problems: ["draining"] });
  });

  it("finishes what is in flight when it closes, and takes nothing more", async () => {
    const gateway = await start([routeEntry()], { claimTimeoutMs: 200 });
    gateway.inbox.fault = "hang";
    const waiting = post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") });
    await sleep(50);
    const closing = gateway.gateway.close();
    await expect(post(gateway, "/push", { body: "{}", headers: signed(QUEUE_PUSH, "{}") })).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
    expect(await waiting).toMatchObject({ status: 503, headers: { connection: "close" } });
    await closing;
  });

  it("sends the answer of a claim before that of the broken request behind it", async () => {
    const gateway = await start([githubRoute()], { claimTimeoutMs: 100 });
    gateway.inbox.fault = "hang";
    const headers = Object.entries(signed(GITHUB, "{}")).map(([name, value]) => `${name}: ${value}\r\n`);
    const first = `POST /push HTTP/1.1\r\nHost: ${HOST}\r\n${headers.join("")}Content-Length: 2\r\n\r\n{}`;
    const answer = await gateway.raw(`${first}garbage\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer).not.toContain("400 Bad Request");
  });

  it("sends the answer of a claim before it cuts off the huge request behind it", async () => {
    const gateway = await start([githubRoute()], { claimTimeoutMs: 300 });
    gateway.inbox.fault = "hang";
    const headers = Object.entries(signed(GITHUB, "{}")).map(([name, value]) => `${name}: ${value}\r\n`);
    const first = `POST /push HTTP/1.1\r\nHost: ${HOST}\r\n${headers.join("")}Content-Length: 2\r\n\r\n{}`;
    const second = `POST /push HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 99999999\r\n\r\n${"x".repeat(1_500_000)}`;
    const answer = await gateway.raw(first + second, { quietMs: 2_000 });
    expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 503", "HTTP/1.1 413"]);
  });
});
