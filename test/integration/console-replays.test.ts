import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { call, type ConsoleAnswer, tokenFor } from "../support/console.ts";
import { type ConsoleCustody, policyOf, REFUNDS, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const REFUND = { policy: policyOf(REFUNDS), destinations: [{ destination: `${REFUNDS}/ledger`, limit: 16 }] };

let redis: TestRedis;
let custody: ConsoleCustody;
let replays = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  custody = await startConsoleCustody(redis);
  replays = `${custody.base}/replays`;
});
afterEach(() => custody.close());

const get = (path: string, token?: string) => call(custody.running, path, token === undefined ? {} : { token });
const create = (body: unknown, headers: Record<string, string> = {}, token = tokenFor("all")) =>
  call(custody.running, replays, { method: "POST", body, headers, token });
const step = (id: string, to: string, token = tokenFor("all")): Promise<ConsoleAnswer> =>
  call(custody.running, `${replays}/${id}/${to}`, { method: "POST", token });
const right = (verb: string, name: string) => `${verb} webhookroutes/replays ${custody.namespace}/${name}`;
const deadCount = async (): Promise<number> => (await get(`${custody.base}/dead-letters/count`)).body.count;

describe("replays of many dead letters", () => {
  it("show how many they would take, then their progress, and end", async () => {
    for (let i = 0; i < 3; i++) await custody.ended("dead", { eventType: "invoice.paid" });
    await custody.ended("dead", REFUND);
    const filter = { route: "payments", destination: "orders", eventType: "invoice.*", from: "2020-01-01T00:00:00Z" };
    expect(await create({ filter, preview: true })).toMatchObject({ status: 200, body: { preview: true, copies: 3 } });
    expect((await get(replays)).body.items).toEqual([]);
    const { status, body } = await create({ filter, rate: 1_000 });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{20}$/) as string,
      filter: { ...filter, from: "2020-01-01T00:00:00.000Z" },
      rate: 1_000,
      state: "running",
      total: 3,
      replayed: 0,
    });
    await custody.tend();
    const ended = await get(`${replays}/${body.id}`);
    expect(ended.body).toMatchObject({ state: "done", replayed: 3, scanned: 3 });
    expect(await deadCount()).toBe(1);
    const { body: page } = await get(`${custody.base}/routes/payments/events?state=waiting`);
    expect(page.items).toHaveLength(3);
    expect(custody.running.log().filter(({ audit }) => audit === true)).toMatchObject([
      {
        operation: "createReplay",
        replay: body.id,
        created: true,
        rate: 1_000,
        total: 3,
        filter: { route: "payments" },
      },
    ]);
  });

  it("are created once for each Idempotency-Key of a caller", async () => {
    await custody.ended("dead");
    const key = { "idempotency-key": "nightly 1" };
    const first = await create({ filter: { route: "payments" } }, key);
    const again = await create({ filter: { route: "payments" } }, key);
    expect([first.status, again.status, again.body.id]).toEqual([201, 200, first.body.id]);
    const other = await create({ filter: { route: "payments" }, rate: 5 }, key);
    expect([other.status, other.body.error, other.body.replay]).toEqual([409, "ReplayKeyReused", first.body.id]);
    const somebody = await create({ filter: { route: "payments" }, rate: 5 }, key, tokenFor(right("create", "")));
    expect(somebody.status).toBe(201);
    expect((await get(replays)).body.items).toHaveLength(2);
    for (const value of ["", "ä", "x".repeat(256)]) {
      const { status, body } = await create(
        { filter: {} },
        { "idempotency-key": Buffer.from(value).toString("latin1") },
      );
      expect([value, status, body.problems?.[0]?.field]).toEqual([value, 400, "Idempotency-Key"]);
    }
  });

  it("are paused, resumed and cancelled", async () => {
    for (let i = 0; i < 3; i++) await custody.ended("dead");
    const { body: replay } = await create({ filter: {} });
    expect((await step(replay.id, "pause")).body).toMatchObject({ state: "paused" });
    await custody.tend();
    expect(await deadCount()).toBe(3);
    expect((await step(replay.id, "resume")).body).toMatchObject({ state: "running" });
    await custody.tend();
    expect(await deadCount()).toBe(0);
    expect((await step(replay.id, "cancel")).body).toMatchObject({ state: "done", replayed: 3 });
    const { body: second } = await create({ filter: {} });
    expect((await step(second.id, "cancel")).body).toMatchObject({ state: "cancelled" });
    expect((await step(second.id, "resume")).body).toMatchObject({ state: "cancelled" });
    expect((await get(replays)).body.items.map(({ state }: { state: string }) => state)).toEqual(["cancelled", "done"]);
  });

  it("of one route are open to whoever has the right to it, the others to whoever has it to all", async () => {
    await custody.ended("dead");
    const one = tokenFor(...["create", "list", "get", "update"].map((verb) => right(verb, "payments")));
    expect((await create({ filter: {} }, {}, one)).status).toBe(403);
    expect((await create({ filter: { route: "refunds" } }, {}, one)).status).toBe(403);
    const own = await create({ filter: { route: "payments" } }, {}, one);
    const { body: all } = await create({ filter: {} });
    expect(own.status).toBe(201);
    expect((await get(replays, one)).status).toBe(403);
    const { body: listed } = await get(`${replays}?route=payments`, one);
    expect(listed.items.map(({ id }: { id: string }) => id)).toEqual([own.body.id]);
    expect((await get(`${replays}/${own.body.id}`, one)).status).toBe(200);
    expect((await step(own.body.id, "pause", one)).status).toBe(200);
    const nothing = "0".repeat(20);
    for (const id of [all.id as string, nothing]) {
      expect([id, (await get(`${replays}/${id}`, one)).status]).toEqual([id, 403]);
      expect([id, (await step(id, "cancel", one)).status]).toEqual([id, 403]);
    }
    const missing = [await get(`${replays}/${nothing}`), await step(nothing, "pause")];
    expect(missing.map(({ status, body }) => [status, body.error])).toEqual([
      [404, "NoSuchReplay"],
      [404, "NoSuchReplay"],
    ]);
  });
});
