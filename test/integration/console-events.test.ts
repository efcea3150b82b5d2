import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { call, tokenFor } from "../support/console.ts";
import { type ConsoleCustody, PAYMENTS, policyOf, REFUNDS, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const ORDERS = { destination: `${PAYMENTS}/orders`, limit: 16 };
const BILLING = { destination: `${PAYMENTS}/billing`, limit: 16 };
const ZURICH = { destination: "~z%C3%BCrich%20ag", limit: 16 };

let redis: TestRedis;
let custody: ConsoleCustody;
let events = "";
let sequence = "";
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  custody = await startConsoleCustody(redis);
  events = `${custody.base}/routes/payments/events`;
  sequence = `${custody.base}/routes/payments/sequence`;
});
afterEach(() => custody.close());

const get = (path: string, token?: string) => call(custody.running, path, token === undefined ? {} : { token });
const post = (path: string, body?: unknown, token?: string) =>
  call(custody.running, path, { method: "POST", body, ...(token !== undefined && { token }) });
const ids = async (query: string) => {
  const { status, body } = await get(`${events}?${query}`);
  expect(status).toBe(200);
  return (body.items as { id: string }[]).map(({ id }) => id);
};
const right = (verb: string, subresource: string, name: string) =>
  `${verb} webhookroutes/${subresource} ${custody.namespace}/${name}`;

describe("events of a route", () => {
  it("are listed newest first, with the names of their destinations and how they stand", async () => {
    const dead = await custody.ended("dead", { eventType: "invoice.paid" }, { status: 404, error: "not found" });
    const late = await custody.ended("retry");
    const both = await custody.accept({ destinations: [BILLING, ZURICH] });
    await custody.accept({ policy: policyOf(REFUNDS), destinations: [{ destination: `${REFUNDS}/x`, limit: 1 }] });
    const { body } = await get(events);
    expect(body).not.toHaveProperty("next");
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual([both, late, dead]);
    expect(body.items[0]).toEqual({
      id: both,
      route: "payments",
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
      sequence: expect.any(Number) as number,
      duplicates: 0,
      bodyBytes: 7,
      copies: [
        { destination: "billing", state: "waiting", attempts: 0 },
        { destination: "~zürich ag", state: "waiting", attempts: 0 },
      ],
    });
    expect(body.items[1].copies).toMatchObject([
      { state: "delayed", attempts: 1, dueAt: expect.any(String) as string },
    ]);
    expect(body.items[2]).toMatchObject({
      eventType: "invoice.paid",
      copies: [
        {
          destination: "orders",
          state: "dead",
          attempts: 1,
          lastStatus: 404,
          lastError: "not found",
          reason: "Status404",
        },
      ],
    });
  });

  it("are filtered by state, destination, type and time", async () => {
    const dead = await custody.ended("dead", { eventType: "invoice.paid" });
    const shared = await custody.ended("delivered", { eventType: "invoice.sent", destinations: [ZURICH] });
    await sleep(5);
    const between = new Date().toISOString();
    await sleep(5);
    const waiting = await custody.accept({ eventType: "user.new", destinations: [BILLING] });
    expect(await ids("state=dead")).toEqual([dead]);
    expect(await ids("state=waiting")).toEqual([waiting]);
    expect(await ids("destination=billing")).toEqual([waiting]);
    expect(await ids(`destination=${encodeURIComponent("~zürich ag")}`)).toEqual([shared]);
    expect(await ids("state=dead&destination=billing")).toEqual([]);
    expect(await ids("eventType=invoice.*")).toEqual([shared, dead]);
    expect(await ids(`from=${between}`)).toEqual([waiting]);
    expect(await ids(`to=${between}`)).toEqual([shared, dead]);
    expect(await ids(`to=${encodeURIComponent(between.replace("Z", "+00:00"))}`)).toEqual([shared, dead]);
  });

  it("come in pages that miss none and show none twice", async () => {
    const all: string[] = [];
    for (let i = 0; i < 7; i++) all.unshift(await custody.accept());
    const seen: string[] = [];
    let next = "";
    do {
      const { body } = await get(`${events}?limit=3${next && `&cursor=${next}`}`);
      expect(body.items.length).toBeLessThanOrEqual(3);
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      next = body.next ?? "";
    } while (next !== "");
    expect(seen).toEqual(all);
  });

  it("are given one by one with the log of each copy, and none of another route", async () => {
    const id = await custody.ended("dead", { destinations: [ORDERS, ZURICH] }, { response: "gone", durationMs: 4 });
    const { body } = await get(`${events}/${id}`);
    expect(body).toMatchObject({
      id,
      copies: [
        {
          destination: "orders",
          state: "dead",
          attempts: 1,
          log: [
            {
              attempt: 1,
              at: expect.any(String) as string,
              status: 404,
              durationMs: 4,
              response: "gone",
              action: "dead",
              reason: "Status404",
            },
          ],
        },
        { destination: "~zürich ag", state: "dead" },
      ],
    });
    expect(body).not.toHaveProperty("body");
    expect(body).not.toHaveProperty("headers");
    for (const path of [`${custody.base}/routes/refunds/events/${id}`, `${events}/01ARZ3NDEKTSV4RRFFQ69G5FAV`]) {
      const missing = await get(path);
      expect([missing.status, missing.body.error]).toEqual([404, "NoSuchEvent"]);
    }
  });

  it("show headers and body only to whoever may see payloads, as long as they are kept", async () => {
    const id = await custody.accept({ body: Buffer.from([0, 255]), headers: { "x-kind": "a" } });
    const reader = right("get", "events", "payments");
    const forbidden = await get(`${events}/${id}?include=body`, tokenFor(reader));
    expect([forbidden.status, forbidden.body.error]).toEqual([403, "NotAllowed"]);
    expect((await get(`${events}/${id}`, tokenFor(reader))).status).toBe(200);
    const { body } = await get(`${events}/${id}?include=body`, tokenFor(reader, right("get", "payloads", "payments")));
    expect(body).toMatchObject({ headers: { "x-kind": "a" }, body: Buffer.from([0, 255]).toString("base64") });
    const delivered = await custody.ended("delivered", { destinations: [BILLING] });
    const gone = await get(`${events}/${delivered}?include=body`);
    expect(gone.body).toMatchObject({ bodyBytes: 0, headers: { "content-type": "application/json" } });
    expect(gone.body).not.toHaveProperty("body");
  });

  it("need the right to the route that they are of", async () => {
    const id = await custody.accept();
    const others = tokenFor(right("list", "events", "refunds"), right("get", "events", "refunds"));
    const readers = tokenFor(right("list", "events", "payments"), right("get", "events", "payments"));
    for (const path of [events, `${events}/${id}`, sequence]) {
      expect([path, (await get(path, others)).status]).toEqual([path, 403]);
      expect([path, (await get(path, readers)).status]).toEqual([path, 200]);
    }
    for (const action of ["replay", "discard", "restore", "cancel"])
      expect([action, (await post(`${events}/${id}/${action}`, {}, readers)).status]).toEqual([action, 403]);
  });
});

describe("list-events by sequence", () => {
  it("gives every event once, ascending, to whoever goes on with next", async () => {
    const all: string[] = [];
    for (let i = 0; i < 5; i++) all.push(await custody.accept());
    const first = await get(`${sequence}?limit=2`);
    expect(first.body).toMatchObject({ more: true, unreadable: 0 });
    const second = await get(`${sequence}?limit=9&after=${first.body.next}`);
    expect(second.body.more).toBe(false);
    const seen = [...first.body.items, ...second.body.items] as { id: string; sequence: number }[];
    expect(seen.map(({ id }) => id)).toEqual(all);
    expect(second.body.next).toBeGreaterThanOrEqual(seen.at(-1)?.sequence ?? Infinity);
    const late = await custody.accept({ eventType: "late" });
    const third = await get(`${sequence}?after=${second.body.next}`);
    expect(third.body.items).toMatchObject([{ id: late, eventType: "late" }]);
    const filtered = await get(`${sequence}?eventType=late&destination=orders`);
    expect(filtered.body.items).toHaveLength(1);
  });

  it("answers 410 and from where on all is kept when there would be a gap", async () => {
    const kept = { ...policyOf(PAYMENTS), retention: { ...policyOf(PAYMENTS).retention, maxEvents: 2 } };
    const sequences: number[] = [];
    for (let i = 0; i < 5; i++) {
      const id = await custody.ended("delivered", { policy: kept });
      const { body } = await get(`${events}/${id}`);
      if (body.sequence !== undefined) sequences.push(body.sequence);
    }
    await custody.tend([kept]);
    const { status, body } = await get(`${sequence}?after=${(sequences[0] ?? 0) - 1}`);
    expect([status, body.error]).toEqual([410, "CursorExpired"]);
    const rest = await get(`${sequence}?after=${body.completeAfter}`);
    expect(rest.status).toBe(200);
    expect(rest.body.items.length).toBeGreaterThan(0);
    const anew = await get(sequence);
    expect(anew.body.items).toEqual(rest.body.items);
  });

  it("includes bodies where they are still kept, for whoever may see payloads", async () => {
    await custody.ended("delivered");
    await custody.accept({ body: Buffer.from("{}") });
    const listers = right("list", "events", "payments");
    expect((await get(`${sequence}?include=body`, tokenFor(listers))).status).toBe(403);
    const token = tokenFor(listers, right("get", "payloads", "payments"));
    const { body } = await get(`${sequence}?include=body`, token);
    expect(body.items.map((item: { body?: string }) => item.body)).toEqual([
      undefined,
      Buffer.from("{}").toString("base64"),
    ]);
    expect((await get(sequence)).body.items[1]).not.toHaveProperty("body");
  });
});

describe("copies of one event", () => {
  const states = async (id: string) =>
    ((await get(`${events}/${id}`)).body.copies as { destination: string; state: string }[]).map(({ state }) => state);

  it("are replayed, all or the one that is named, and once only", async () => {
    const id = await custody.ended("dead", { destinations: [ORDERS, ZURICH] });
    expect((await post(`${events}/${id}/replay`, { destination: "~zürich ag" })).body).toEqual({
      copies: 1,
      active: 0,
    });
    expect(await states(id)).toEqual(["dead", "waiting"]);
    expect((await post(`${events}/${id}/replay`)).body).toEqual({ copies: 1, active: 0 });
    expect((await post(`${events}/${id}/replay`)).body).toEqual({ copies: 0, active: 0 });
    expect(await states(id)).toEqual(["waiting", "waiting"]);
  });

  it("are discarded, restored and cancelled", async () => {
    const id = await custody.ended("dead", { destinations: [ORDERS, ZURICH] });
    expect((await post(`${events}/${id}/discard`, { destination: "orders" })).body.copies).toBe(1);
    expect(await states(id)).toEqual(["discarded", "dead"]);
    expect((await post(`${events}/${id}/restore`)).body.copies).toBe(1);
    expect(await states(id)).toEqual(["dead", "dead"]);
    const live = await custody.accept({ destinations: [BILLING, ZURICH] });
    expect((await post(`${events}/${live}/cancel`, { destination: "billing" })).body).toEqual({ copies: 1, active: 0 });
    expect(await states(live)).toEqual(["cancelled", "waiting"]);
  });

  it("are those of an event and a destination that there are", async () => {
    const id = await custody.accept();
    for (const action of ["replay", "discard", "restore", "cancel"]) {
      const nowhere = await post(`${events}/${id}/${action}`, { destination: "billing" });
      expect([action, nowhere.status, nowhere.body.error]).toEqual([action, 404, "NoSuchDestination"]);
      const elsewhere = await post(`${custody.base}/routes/refunds/events/${id}/${action}`);
      expect([action, elsewhere.status, elsewhere.body.error]).toEqual([action, 404, "NoSuchEvent"]);
    }
    expect(await states(id)).toEqual(["waiting"]);
  });

  it("leave a line of who did what, without the token", async () => {
    const id = await custody.ended("dead");
    const token = tokenFor(right("create", "replays", "payments"));
    await post(`${events}/${id}/replay`, { destination: "orders" }, token);
    await post(`${events}/${id}/cancel`, {}, token);
    await get(`${events}/${id}`);
    const lines = custody.running.log().filter(({ audit }) => audit === true);
    expect(lines).toMatchObject([
      {
        msg: "change made",
        caller: `user ${right("create", "replays", "payments")}`,
        operation: "replayEvent",
        namespace: custody.namespace,
        route: "payments",
        event: id,
        destination: "orders",
        copies: 1,
        status: 200,
      },
      { msg: "change refused", operation: "cancelEvent", event: id, status: 403, reason: "NotAllowed" },
    ]);
    expect(JSON.stringify(custody.running.log())).not.toContain(token);
  });
});
