import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, tokenFor } from "../support/console.ts";
import { type ConsoleCustody, policyOf, REFUNDS, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const REFUND = { policy: policyOf(REFUNDS), destinations: [{ destination: `${REFUNDS}/ledger`, limit: 16 }] };
const ACME = { destinations: [{ destination: "~acme", limit: 16 }] };

let redis: TestRedis;
let custody: ConsoleCustody;
let letters = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  custody = await startConsoleCustody(redis);
  letters = `${custody.base}/dead-letters`;
});
afterEach(() => custody.close());

const get = (path: string, token?: string) => call(custody.running, path, token === undefined ? {} : { token });
const post = (path: string, body: unknown, token?: string) =>
  call(custody.running, path, { method: "POST", body, ...(token !== undefined && { token }) });
const ids = async (query: string) =>
  ((await get(`${letters}?${query}`)).body.items as { eventId: string }[]).map(({ eventId }) => eventId);
const count = async (query: string): Promise<number> => (await get(`${letters}/count?${query}`)).body.count;
const right = (verb: string, subresource: string, name: string) =>
  `${verb} webhookroutes/${subresource} ${custody.namespace}/${name}`;
const audited = () => custody.running.log().filter(({ audit }) => audit === true);

describe("dead letters of a namespace", () => {
  it("are listed oldest death first, with names and what led to it", async () => {
    const first = await custody.ended(
      "dead",
      { eventType: "invoice.paid" },
      { status: 404, response: "no such order" },
    );
    await sleep(3);
    const second = await custody.ended("dead", REFUND, {
      status: 500,
      reason: "AttemptsExhausted",
      error: "status 500",
    });
    await custody.ended("delivered");
    const { body } = await get(letters);
    expect(body).toEqual({
      items: [
        {
          eventId: first,
          route: "payments",
          destination: "orders",
          diedAt: expect.any(String) as string,
          receivedAt: expect.any(String) as string,
          sequence: expect.any(Number) as number,
          reason: "Status404",
          eventType: "invoice.paid",
          failureContext: { attempts: 1, lastError: "status 404", lastStatus: 404, lastResponse: "no such order" },
        },
        expect.objectContaining({
          eventId: second,
          route: "refunds",
          destination: "ledger",
          reason: "AttemptsExhausted",
        }) as object,
      ],
    });
  });

  it("are filtered and counted by route, destination, reason, type and time of death", async () => {
    const paid = await custody.ended("dead", { eventType: "invoice.paid" });
    const refund = await custody.ended("dead", REFUND, { status: 503, reason: "Status503" });
    await sleep(5);
    const between = new Date().toISOString();
    await sleep(5);
    const shared = await custody.ended("dead", { ...ACME, eventType: "invoice.sent" });
    const expected: readonly [query: string, ids: readonly string[]][] = [
      ["route=refunds", [refund]],
      ["route=payments&destination=orders", [paid]],
      ["destination=~acme", [shared]],
      ["route=refunds&destination=~acme", []],
      ["reason=Status5*", [refund]],
      ["eventType=invoice.*", [paid, shared]],
      [`from=${between}`, [shared]],
      [`to=${between}`, [paid, refund]],
    ];
    for (const [query, fitting] of expected) {
      expect([query, await ids(query)]).toEqual([query, fitting]);
      expect([query, await count(query)]).toEqual([query, fitting.length]);
    }
  });

  it("come in pages whose cursor is good for nothing else", async () => {
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.push(await custody.ended("dead"));
    const first = await get(`${letters}?limit=2`);
    const second = await get(`${letters}?limit=2&cursor=${first.body.next}`);
    const third = await get(`${letters}?limit=2&cursor=${second.body.next}`);
    const seen = [first, second, third].flatMap(({ body }) => body.items as { eventId: string }[]);
    expect(seen.map(({ eventId }) => eventId)).toEqual(all);
    const elsewhere = `${custody.base}/routes/payments/events?cursor=${first.body.next}`;
    for (const path of [
      elsewhere,
      `${letters}?cursor=1`,
      `${letters}?cursor=${Buffer.from("deadLetters:1:2:x").toString("base64url")}`,
    ]) {
      const { status, body } = await get(path);
      expect([path, status, body.problems?.[0]?.field]).toEqual([path, 400, "cursor"]);
    }
  });

  it("of a route that is gone are shown without a name", async () => {
    const policy = policyOf("ffffffffffffffff");
    await custody.ended("dead", { policy, destinations: [{ destination: "ffffffffffffffff/old", limit: 1 }] });
    expect((await get(letters)).body.items).toMatchObject([{ route: null, destination: "old" }]);
  });

  it("are one route's for whoever has the right to one, and all for whoever has it to all", async () => {
    await custody.ended("dead");
    const one = tokenFor(right("list", "deadletters", "payments"));
    expect((await get(letters, one)).status).toBe(403);
    expect((await get(`${letters}?destination=~acme`, one)).status).toBe(403);
    expect((await get(`${letters}?route=refunds`, one)).status).toBe(403);
    expect((await get(`${letters}?route=payments`, one)).status).toBe(200);
    expect((await get(`${letters}/count?route=payments`, one)).status).toBe(200);
    expect((await get(letters, tokenFor(right("list", "deadletters", "")))).status).toBe(200);
    for (const action of ["discard", "restore"])
      expect((await post(`${letters}/${action}`, { filter: { route: "payments" } }, one)).status).toBe(403);
  });

  it("are of a namespace that there is", async () => {
    for (const path of ["/v1/namespaces/nowhere/dead-letters", "/v1/namespaces/nowhere/replays"]) {
      const { status, body } = await get(path);
      expect([path, status, body.error]).toEqual([path, 404, "NoSuchNamespace"]);
    }
    const { status, body } = await get(`${letters}?route=nothing`);
    expect([status, body.error]).toEqual([404, "NoSuchRoute"]);
  });

  it("are discarded after a look at how many, and restored", async () => {
    await custody.ended("dead");
    await custody.ended("dead", REFUND);
    const filter = { route: "payments" };
    expect((await post(`${letters}/discard`, { filter, preview: true })).body).toEqual({
      preview: true,
      copies: 1,
      atLeast: false,
    });
    expect(await count("")).toBe(2);
    expect(audited()).toEqual([]);
    const token = tokenFor(right("delete", "deadletters", "payments"));
    expect((await post(`${letters}/discard`, { filter }, token)).body).toEqual({ copies: 1, active: 0 });
    expect(await count("")).toBe(1);
    expect((await post(`${letters}/restore`, { filter: {} })).body).toEqual({ copies: 1, active: 0 });
    expect(await count("")).toBe(2);
    expect(audited()).toMatchObject([
      { operation: "discardDeadLetters", filter: { route: "payments" }, copies: 1, done: true },
      { operation: "restoreDeadLetters", filter: {}, copies: 1, done: true },
    ]);
  });
});

describe("waiting and delayed copies", () => {
  it("are cancelled after a look at how many", async () => {
    await custody.ended("retry", { eventType: "a" });
    await custody.accept(REFUND);
    await custody.accept(ACME);
    const cancel = `${custody.base}/copies/cancel`;
    const filter = { route: "payments" };
    expect((await post(cancel, { filter, preview: true })).body).toEqual({ preview: true, copies: 2, atLeast: false });
    expect((await post(cancel, { filter: { ...filter, destination: "~acme" } })).body).toEqual({
      copies: 1,
      active: 0,
    });
    expect((await post(cancel, { filter: { ...filter, eventType: "a" } })).body).toEqual({ copies: 1, active: 0 });
    expect((await post(cancel, { filter, preview: true })).body.copies).toBe(0);
    expect((await post(cancel, { filter: { route: "refunds" }, preview: true })).body.copies).toBe(1);
    expect(audited()).toMatchObject([
      { operation: "cancelCopies", filter: { route: "payments", destination: "~acme" }, copies: 1 },
      { operation: "cancelCopies", filter: { route: "payments", eventType: "a" }, copies: 1 },
    ]);
    const one = tokenFor(right("delete", "events", "payments"));
    expect((await post(cancel, { filter }, one)).status).toBe(200);
    expect((await post(cancel, { filter: { destination: "~acme" } }, one)).status).toBe(403);
  });

  it("are never all of a namespace", async () => {
    const { status, body } = await post(`${custody.base}/copies/cancel`, { filter: {} });
    expect([status, body.problems]).toEqual([
      400,
      [{ field: "filter.route", message: "name `route` or `destination`" }],
    ]);
  });
});
