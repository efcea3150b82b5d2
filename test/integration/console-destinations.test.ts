import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  destinationPolicy,
  newEvent,
  routePolicy,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import {
  call,
  freshNamespace,
  knownDestination,
  knownRoute,
  startConsole,
  type TestConsole,
  TestDirectory,
  tokenFor,
} from "../support/console.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const ORDERS = "00112233445566aa";
const OTHERS = "00112233445566bb";

let redis: TestRedis;
let running: TestConsole;
let namespace = "";
let base = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  namespace = freshNamespace();
  base = `/v1/namespaces/${namespace}/destinations`;
  const routes = [
    { ...knownRoute(namespace, "orders", ORDERS), mayReach: (id: string) => id !== "~lonely" },
    { ...knownRoute(namespace, "others", OTHERS), mayReach: (id: string) => id === "~both" },
  ];
  const destinations = ["acme", "both", "lonely", "a/b c"].map((id) => knownDestination(namespace, id));
  running = await startConsole(redis, new TestDirectory(routes, destinations));
});
afterEach(() => running.close());

const scope = () => ({ instance: "default", namespace });
const acme = destinationPolicy({ destination: "~acme", policy: routePolicy({ route: ORDERS }), gate: { seq: 1 } });
const accept = () =>
  running.store
    .inbox(scope())
    .claim(newEvent({ policy: routePolicy({ route: ORDERS }), destinations: [{ destination: "~acme", limit: 1 }] }));
const outbox = () => running.store.outbox(scope(), { policies: () => [] });
const post = (path: string, body?: unknown, token?: string) =>
  call(running, `${base}/${path}`, {
    method: "POST",
    ...(body !== undefined && { body }),
    ...(token !== undefined && { token }),
  });

describe("destinations in the console", () => {
  it("are listed by id in pages, with state and backlog", async () => {
    await accept();
    await running.store.ledger(scope()).hold("~both", Date.now() + 60_000);
    const first = await call(running, `${base}?limit=3`);
    expect(first.body.items).toMatchObject([
      { id: "a/b c", state: "Closed", waiting: 0 },
      { id: "acme", state: "Closed", waiting: 1, oldestWaitingAt: expect.any(String) },
      { id: "both", state: "Held", reason: "OperatorHold", until: expect.any(String) },
    ]);
    const last = await call(running, `${base}?limit=3&cursor=${encodeURIComponent(first.body.next)}`);
    expect(last.body).toMatchObject({ items: [{ id: "lonely" }] });
    expect(last.body).not.toHaveProperty("next");
  });

  it("tell their statistics: gate, copies, ages, and what ended by the hour", async () => {
    for (let i = 0; i < 4; i++) await accept();
    const [a, b, c] = await take(outbox(), acme, 3);
    if (!a || !b || !c) throw new Error("three copies were expected");
    await settle(
      outbox(),
      [settlement(a, "delivered"), settlement(b, "dead"), settlement(c, "retry", { delayMs: 60_000 })],
      acme,
    );
    const { body } = await call(running, `${base}/acme`);
    expect(body).toMatchObject({
      id: "acme",
      suspended: false,
      gate: { state: "Closed", consecutiveFailures: 0, limit: 16 },
      copies: { ready: 1, replayed: 0, delayed: 1, active: 0, dead: 1 },
      delivered: 1,
      failed: 2,
      lastDeliveredAt: expect.any(String),
    });
    expect((await call(running, `${base}/${encodeURIComponent("a/b c")}`)).body).toMatchObject({ id: "a/b c" });
  });

  it("are held until a time or for a while, and enabled again", async () => {
    const held = await post("acme/hold", { forSeconds: 60 });
    expect(held.body.gate).toMatchObject({ state: "Held", reason: "OperatorHold" });
    expect(Math.abs(Date.parse(held.body.gate.until) - Date.now() - 60_000)).toBeLessThan(10_000);
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await post("acme/hold", { until })).body.gate.until).toBe(until);
    await accept();
    expect(await take(outbox(), acme)).toEqual([]);
    expect((await post("acme/enable")).body).toMatchObject({ changed: true, gate: { state: "Closed" } });
    expect((await post("acme/enable")).body).toMatchObject({ changed: false });
    expect(await take(outbox(), acme)).toHaveLength(1);
  });

  it("are not held when they are disabled, nor for no time or for ever", async () => {
    await accept();
    const [copy] = await take(outbox(), acme);
    if (!copy) throw new Error("a copy was expected");
    await settle(
      outbox(),
      [settlement(copy, "dead", { gate: { type: "gone", generation: copy.gateGeneration ?? 0 } })],
      acme,
    );
    const { status, body } = await post("acme/hold", { forSeconds: 60 });
    expect([status, body.error]).toEqual([409, "DestinationDisabled"]);
    expect((await call(running, `${base}/acme`)).body.gate).toMatchObject({ state: "Disabled", reason: "Gone" });
    for (const wrong of [
      {},
      { forSeconds: 0 },
      { forSeconds: 1.5 },
      { forSeconds: 2_592_001 },
      { forSeconds: 60, until: new Date(Date.now() + 60_000).toISOString() },
      { until: "2001-01-01T00:00:00Z" },
      { until: "3001-01-01T00:00:00Z" },
    ])
      expect([wrong, (await post("both/hold", wrong)).status]).toEqual([wrong, 400]);
  });

  it("get a test event, alone, in a body of its own", async () => {
    const sent = await post("acme/test", { data: { n: 1 } });
    expect([sent.status, sent.body]).toMatchObject([202, { route: "orders", eventType: "davit.test", gate: "Closed" }]);
    const [copy, ...others] = await take(outbox(), acme);
    expect([copy?.eventId, others]).toEqual([sent.body.id, []]);
    expect(JSON.parse(copy?.body.toString() ?? "")).toEqual({
      type: "davit.test",
      timestamp: expect.any(String),
      data: { n: 1 },
    });
    const event = await running.store.ledger(scope()).event(sent.body.id);
    expect(event).toMatchObject({ route: ORDERS, eventType: "davit.test", copies: [{ destination: "~acme" }] });
    expect(event?.copies).toHaveLength(1);
  });

  it("get a test event only by a route that reaches them, which is named where there are several", async () => {
    for (const [destination, body] of [
      ["both", {}],
      ["acme", { route: "others" }],
      ["acme", { route: "nothing" }],
      ["lonely", {}],
    ] as const) {
      const refused = await post(`${destination}/test`, body);
      expect([destination, refused.status, refused.body.problems[0].field]).toEqual([destination, 400, "route"]);
    }
    const sent = await post("both/test", { route: "others", eventType: "order.paid" });
    expect(sent.body).toMatchObject({ route: "others", eventType: "order.paid" });
  });

  it("are told of to whoever has the right to them, and to nobody else", async () => {
    const rights = [
      ["GET", "", "list webhookdestinations/statistics"],
      ["GET", "/acme", "get webhookdestinations/statistics"],
      ["POST", "/acme/enable", "update webhookdestinations/gate"],
      ["POST", "/acme/hold", "update webhookdestinations/gate"],
      ["POST", "/acme/test", "create webhookdestinations/test"],
    ] as const;
    const all = rights.map(([, , right]) => right);
    for (const [method, path, right] of rights) {
      const body = path.endsWith("/hold") ? { forSeconds: 1 } : undefined;
      const options = { method, ...(body && { body }) };
      const others = all.filter((one) => one !== right).map((one) => `${one} ${namespace}/acme`);
      const name = path === "" ? "" : "acme";
      const refused = await call(running, `${base}${path}`, {
        ...options,
        token: tokenFor(...others, `${right} ${namespace}/both`),
      });
      expect([path, refused.status]).toEqual([path, 403]);
      const taken = await call(running, `${base}${path}`, {
        ...options,
        token: tokenFor(`${right} ${namespace}/${name}`),
      });
      expect([path, taken.status < 300]).toEqual([path, true]);
    }
    const unknown = await call(running, `${base}/nobody`, {
      token: tokenFor(`get webhookdestinations/statistics ${namespace}/`),
    });
    expect([unknown.status, unknown.body.error]).toEqual([404, "NoSuchDestination"]);
  });

  it("have changes written to the audit log, without data", async () => {
    await post("acme/test", { data: { secret: "not to be seen" } });
    await post("acme/hold", { forSeconds: 60 });
    const lines = running.log().filter(({ audit }) => audit === true);
    expect(lines).toMatchObject([
      { operation: "testDestination", namespace, destination: "acme", status: 202 },
      { operation: "holdDestination", namespace, destination: "acme", status: 200 },
    ]);
    expect(JSON.stringify(lines)).not.toContain("not to be seen");
  });
});
