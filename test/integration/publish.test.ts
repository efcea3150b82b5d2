import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HEALTHY, destinationEntry, routeEntry } from "../../src/gateway/testing.ts";
import type { ItemResult } from "../../src/gateway/api/results.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { schemaProblems } from "../support/api-schema.ts";
import { waitFor } from "../support/dev-process.ts";
import { publish, type Publishing, startPublishing, TOKEN } from "../support/publishing.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

let redis: TestRedis;
const running: Publishing[] = [];
let keys = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

/** A route of its own for each test: 16 hex digits nobody else has. */
function route(changes: Partial<RouteEntry> = {}): RouteEntry {
  keys += 1;
  const key = keys.toString(16).padStart(16, "0");
  const destinations = [{ ...destinationEntry("orders"), id: `${key}/orders` }];
  const retention = { deliveredMs: 86_400_000, deadLettersMs: 86_400_000, maxEvents: 10_000, keepBodies: false };
  return routeEntry({ route: key, destinations, retention, ...changes });
}

async function start(entry = route(), options: Parameters<typeof startPublishing>[2] = {}): Promise<Publishing> {
  const started = await startPublishing(redis, [entry], options);
  running.push(started);
  return started;
}

const event = (change: object = {}) => ({ type: "order.paid", data: { amount: 1 }, ...change });
const events = (count: number, change: (n: number) => object = (n) => ({ id: `e-${n}` })) =>
  Array.from({ length: count }, (_, n) => event(change(n)));
const statuses = (results: readonly ItemResult[]) =>
  results.map((result) => ("error" in result ? result.error.code : result.status));
const idOf = (result: ItemResult | undefined) => (result && "id" in result ? result.id : "");
const countOf = async (gateway: Publishing, outcome: string, labels = 'namespace="shop",route="push"') => {
  const text = await gateway.metrics.registry.metrics();
  return Number(
    new RegExp(`^davit_ingest_requests_total\\{${labels},outcome="${outcome}"\\} (\\d+)`, "m").exec(text)?.[1] ?? NaN,
  );
};

describe("publishing events", () => {
  it("keeps each event byte for byte as the producer wrote it, under its type, in the order of the request", async () => {
    const entry = route();
    const gateway = await start(entry);
    const first = '{ "data": {"big": 12345678901234567890.10, "é": "\\u00e9"},\n "type":"order.paid", "id":"a b" }';
    const second = '{"type":"order.sent","sequence":90071992547409931,"data":null}';
    const { status, body } = await publish(gateway, ` {"events": [${first} , ${second}]}`);
    expect([status, body.accepted, statuses(body.results)]).toEqual([200, 2, ["accepted", "accepted"]]);
    const ids = body.results.map(idOf);
    const kept = await Promise.all(ids.map((id) => gateway.ledger.body(id)));
    expect(kept.map(String)).toEqual([first, second]);
    const views = await Promise.all(ids.map((id) => gateway.ledger.event(id)));
    expect(views).toMatchObject([
      { eventType: "order.paid", route: entry.route, copies: [{ state: "waiting" }] },
      { eventType: "order.sent" },
    ]);
    expect(views[0]?.sequence).toBeLessThan(views[1]?.sequence ?? 0);
  });

  it("gives a copy only to destinations whose filter takes the event's type", async () => {
    const [paid, all] = [destinationEntry("paid", { eventTypes: ["order.paid"] }), destinationEntry("all")];
    const gateway = await start(route({ destinations: [paid, all] }));
    const { body } = await publish(gateway, [event(), event({ type: "order.sent" })]);
    const views = await Promise.all(body.results.map((result) => gateway.ledger.event(idOf(result))));
    expect(views.map((view) => view?.copies.length)).toEqual([2, 1]);
  });

  it("takes 500 events at once, in custody when it answers, and none twice when they come again", async () => {
    const entry = route();
    const gateway = await start(entry);
    const first = await publish(gateway, events(500));
    expect([first.status, first.body.accepted]).toEqual([200, 500]);
    const again = await publish(gateway, events(500).toReversed());
    expect([again.status, again.body.duplicates]).toEqual([200, 500]);
    expect(again.body.results.map(idOf)).toEqual(first.body.results.map(idOf).toReversed());
    const lane = redis.client();
    expect(await lane.zcard(`davit:default:{shop}:lane:${entry.route}/orders`)).toBe(500);
    expect([await countOf(gateway, "accepted"), await countOf(gateway, "duplicate")]).toEqual([500, 500]);
  });

  it("takes the same id with another body for a mistake, while the first is queued", async () => {
    const gateway = await start();
    await publish(gateway, [event({ id: "a" })]);
    const { status, body } = await publish(gateway, [event({ id: "a", data: 2 }), event({ id: "b" })]);
    expect([status, statuses(body.results)]).toEqual([200, ["IdReused", "accepted"]]);
    expect(body.results[0]).toMatchObject({ error: { field: "id" } });
  });

  it("knows events without an id by the Idempotency-Key and their place, so that equal ones are two", async () => {
    const gateway = await start();
    const list = [event(), event(), event({ id: "own" })];
    const headers = { "idempotency-key": "digest 2026-W49" };
    const first = await publish(gateway, list, { headers });
    expect(statuses(first.body.results)).toEqual(["accepted", "accepted", "accepted"]);
    const again = await publish(gateway, list, { headers });
    expect(statuses(again.body.results)).toEqual(["duplicate", "duplicate", "duplicate"]);
    expect(again.body.results.map(idOf)).toEqual(first.body.results.map(idOf));
    const other = await publish(gateway, list, { headers: { "idempotency-key": "digest 2026-W50" } });
    expect(statuses(other.body.results)).toEqual(["accepted", "accepted", "duplicate"]);
  });

  it("refuses an Idempotency-Key that comes with other events, also where the list has only grown", async () => {
    const gateway = await start();
    const headers = { "idempotency-key": "once" };
    await publish(gateway, [event()], { headers });
    const grown = await publish(gateway, [event(), event()], { headers });
    expect([grown.status, grown.body.error, statuses(grown.body.results)]).toEqual([
      409,
      "IdempotencyKeyReused",
      ["IdempotencyKeyReused", "IdempotencyKeyReused"],
    ]);
    // Blanks around events are no part of them.
    const spaced = await publish(gateway, `[ ${JSON.stringify(event())} ]`, { headers });
    expect(statuses(spaced.body.results)).toEqual(["duplicate"]);
  });

  it("makes new events each time of those with neither id nor key", async () => {
    const gateway = await start();
    const answers = [await publish(gateway, [event()]), await publish(gateway, [event()])];
    expect(answers.map(({ body }) => body.accepted)).toEqual([1, 1]);
  });

  it("says of each event what is wrong with it, and takes the others", async () => {
    const gateway = await start(
      route({
        payload: { format: "JSON", requiredFields: ["/data/amount"] },
        limits: { ...routeEntry().limits, maxBodyBytes: 200 },
      }),
    );
    const list = [event({ id: 7 }), event(), 5, event({ data: {} }), event({ data: { amount: "a".repeat(200) } })];
    const { status, body } = await publish(gateway, list);
    expect([status, statuses(body.results)]).toEqual([
      200,
      ["EnvelopeInvalid", "accepted", "EnvelopeInvalid", "FieldMissing", "EventTooLarge"],
    ]);
    expect(body.results[0]).toMatchObject({ error: { field: "id" } });
    expect(body.results[3]).toMatchObject({ error: { field: "/data/amount" } });
    const none = await publish(gateway, [5]);
    expect([none.status, none.body.error]).toEqual([422, "NothingAccepted"]);
    expect([await countOf(gateway, "unprocessable"), await countOf(gateway, "too_large")]).toEqual([4, 1]);
  });

  it.each([
    ["[{}", 400, "NotJson"],
    ["{}", 400, "NotAList"],
    ["[]", 400, "NoEvents"],
    [JSON.stringify(events(501)), 413, "TooManyEvents"],
    [`[${" ".repeat(8 * 1_048_576)}]`, 413, "RequestTooLarge"],
  ])("refuses the body %.20s as a whole with %i %s", async (text, status, error) => {
    expect(await publish(await start(), text)).toMatchObject({ status, body: { error } });
  });

  it("is described as it is: what it takes fits the schema, what it refuses does not", () => {
    expect(schemaProblems("PublishRequest", events(500))).toEqual([]);
    expect(
      schemaProblems("PublishRequest", { events: [event({ id: "a", sequence: "7", apiVersion: "1", data: null })] }),
    ).toEqual([]);
    for (const wrong of [
      [],
      events(501),
      [5],
      [event({ id: 7 })],
      [event({ id: "é" })],
      { events: events(1), more: 1 },
      [{ type: "a" }],
    ]) {
      expect(schemaProblems("PublishRequest", wrong)).not.toEqual([]);
    }
  });
});

describe("who may publish", () => {
  it("is asked for a token first, and told nothing of routes without one", async () => {
    const gateway = await start();
    for (const path of ["/v1/namespaces/shop/routes/push/events", "/v1/namespaces/shop/routes/none/events"]) {
      for (const token of ["", "wrong", `${TOKEN}x`]) {
        const { status, headers, body } = await publish(gateway, [event()], { path, token });
        expect([status, headers.get("www-authenticate"), body.error]).toEqual([
          401,
          'Bearer realm="davit"',
          token === "" ? "TokenMissing" : "TokenRefused",
        ]);
      }
    }
    expect(await countOf(gateway, "unauthenticated", 'namespace="",route=""')).toBe(6);
  });

  it.each(["Basic YTpi", "Bearer", "Bearer a b", "bearer\ta"])(
    "is refused with the credentials %j",
    async (authorization) => {
      const { status } = await publish(await start(), [event()], { token: "", headers: { authorization } });
      expect(status).toBe(401);
    },
  );

  it("is told no more than 403 where the right is missing, whether there is such a route or not", async () => {
    const access = { caller: async () => ({ name: "tester", may: async () => false }) };
    const gateway = await start(route(), { access });
    const answers = [
      await publish(gateway, [event()]),
      await publish(gateway, [event()], { path: "/v1/namespaces/shop/routes/none/events" }),
    ];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [403, { error: "NotAllowed", message: expect.any(String) }],
      [403, { error: "NotAllowed", message: expect.any(String) }],
    ]);
    expect([await countOf(gateway, "rejected"), await countOf(gateway, "rejected", 'namespace="",route=""')]).toEqual([
      1, 1,
    ]);
  });

  it("is nobody while that cannot be told", async () => {
    const lost = () => Promise.reject(new Error("the API server could not be asked: connection refused"));
    for (const access of [{ caller: lost }, { caller: async () => ({ name: "tester", may: lost }) }]) {
      const gateway = await start(route(), { access });
      const { status, headers, body } = await publish(gateway, [event()]);
      expect([status, headers.get("retry-after"), body.error]).toEqual([503, "5", "AccessUnknown"]);
      expect(gateway.log()).toContain("connection refused");
    }
  });
});

describe("the API listener", () => {
  it("has this one endpoint", async () => {
    const gateway = await start();
    for (const path of ["/", "/v1/namespaces/shop/routes/push", "/v1/namespaces/SHOP/routes/push/events", "/push"]) {
      expect(await publish(gateway, [], { path })).toMatchObject({ status: 404, body: { error: "NoSuchEndpoint" } });
    }
    const { status, headers } = await publish(gateway, undefined, { method: "GET" });
    expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("does not find a route that is not served, and says so only once the routes are known", async () => {
    const path = "/v1/namespaces/shop/routes/none/events";
    let ready = false;
    const gateway = await start(route(), { ready: () => ready });
    expect(await publish(gateway, [event()], { path })).toMatchObject({ status: 503, body: { error: "NotReady" } });
    ready = true;
    expect(await publish(gateway, [event()], { path })).toMatchObject({ status: 404, body: { error: "NoSuchRoute" } });
  });

  it("holds routes to their limits before it reads the events", async () => {
    const limits = { ...routeEntry().limits, maxBacklog: 3 };
    const cases: [Partial<RouteEntry>, Parameters<typeof startPublishing>[2], number, string][] = [
      [{ suspend: "Ingest" }, {}, 503, "Suspended"],
      [{ limits }, { gateway: { backlog: () => 3 } }, 429, "BacklogFull"],
      [{ limits: { ...limits, maxInFlightPerPod: 0 } }, {}, 429, "TooManyInFlight"],
      [{}, { gateway: { health: () => ({ ...HEALTHY, memoryRatio: 0.9 }) } }, 503, "StoreFull"],
      [{}, { gateway: { health: () => ({ ...HEALTHY, up: false }) } }, 503, "StoreUnavailable"],
    ];
    for (const [changes, options, status, error] of cases) {
      const gateway = await start(route(changes), options);
      expect(await publish(gateway, "no JSON")).toMatchObject({ status, body: { error } });
    }
  });

  it.each([
    ["8388609", 413],
    ["8388608", 100],
  ])("judges a body of %s bytes before it comes: %i", async (length, status) => {
    const { url } = await start();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const path = "/v1/namespaces/shop/routes/push/events";
    const fields = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${length}\r\nExpect: 100-continue`;
    socket.write(`POST ${path} HTTP/1.1\r\n${fields}\r\n\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(head.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  });

  it("gives a route's place in flight back after each request", async () => {
    const gateway = await start(route({ limits: { ...routeEntry().limits, maxInFlightPerPod: 1 } }));
    for (const body of ["no JSON", [event()], [], [event()]])
      expect((await publish(gateway, body)).status).not.toBe(429);
  });

  it("holds no more bytes of requests at a time than it has room for, and takes them again later", async () => {
    const gateway = await start();
    const open = Array.from({ length: 8 }, () => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(
        `POST /v1/namespaces/shop/routes/push/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 8388608\r\n\r\n[`,
      );
      return socket;
    });
    await waitFor("the room to be taken", async () => (await publish(gateway, [event()])).status === 429);
    expect(await publish(gateway, [event()])).toMatchObject({ body: { error: "TooManyBytesInFlight" } });
    for (const socket of open) socket.destroy();
    await waitFor("the room to be free", async () => (await publish(gateway, [event()])).status === 200);
    expect(await countOf(gateway, "aborted")).toBe(8);
  });

  it("refuses an Idempotency-Key that cannot be one", async () => {
    const gateway = await start();
    for (const key of ["", "a".repeat(256), "é"]) {
      const answer = await publish(gateway, [event()], { headers: { "idempotency-key": key } });
      expect(answer).toMatchObject({ status: 400, body: { error: "IdempotencyKeyMalformed" } });
    }
  });

  it("leaves a line for each request, with who it was and no word of the events, the token or the key", async () => {
    const gateway = await start();
    await publish(gateway, [event({ id: "very-private-id", data: "very-private-data" }), 1], {
      headers: { "idempotency-key": "very-private-key" },
    });
    await publish(gateway, [event()], { token: "very-private-token" });
    await publish(gateway, '["very-private-text"');
    const line =
      gateway
        .log()
        .split("\n")
        .find((each) => each.includes("events published")) ?? "{}";
    expect(JSON.parse(line)).toMatchObject({
      namespace: "shop",
      route: "push",
      producer: "tests",
      accepted: 1,
      duplicates: 0,
      errors: 1,
    });
    expect(gateway.log()).toContain("publishing refused with 401");
    expect(gateway.log()).not.toContain("very-private");
    expect(gateway.log()).not.toContain(TOKEN);
  });
});

describe("publishing while the store fails", () => {
  it("answers 503 with what became of each event, and the same request again brings in the rest once", async () => {
    const own = await startRedis();
    const entry = route();
    const gateway = await startPublishing(own, [entry], { claimTimeoutMs: 500 });
    try {
      await publish(gateway, events(70));
      own.freeze();
      const lost = await publish(gateway, events(500));
      expect(lost).toMatchObject({ status: 503, body: { error: "NotStored", accepted: 0, errors: 500 } });
      expect(new Set(statuses(lost.body.results))).toEqual(new Set(["NotStored"]));
      own.thaw();
      await waitFor("the store", async () => (await publish(gateway, events(500))).status === 200);
      const { body } = await publish(gateway, events(500));
      expect([body.accepted, body.duplicates]).toEqual([0, 500]);
      expect(await own.client().zcard(`davit:default:{shop}:lane:${entry.route}/orders`)).toBe(500);
    } finally {
      own.thaw();
      await gateway.close();
      await own.stop();
    }
  });
});
