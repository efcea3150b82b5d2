import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tagOf } from "../../src/custody/redis/keys.ts";
import { portOf } from "../../src/lib/listen.ts";
import { call, tokenFor } from "../support/console.ts";
import { type ConsoleCustody, PAYMENTS, policyOf, REFUNDS, startConsoleCustody } from "../support/console-custody.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

/** More than a count looks at. */
const MANY = 50_001;

let redis: TestRedis;
let custody: ConsoleCustody;
let client: ReturnType<TestRedis["client"]>;
beforeAll(async () => {
  redis = await startRedis();
  client = redis.client();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  custody = await startConsoleCustody(redis);
});
afterEach(() => custody.close());

const key = (name: string) => `${tagOf({ instance: "default", namespace: custody.namespace })}:${name}`;
const get = (path: string, token?: string) =>
  call(custody.running, `${custody.base}/${path}`, token === undefined ? {} : { token });
const post = (path: string, body: unknown, token?: string) =>
  call(custody.running, `${custody.base}/${path}`, { method: "POST", body, ...(token !== undefined && { token }) });

/** Entries of an index, whose records are gone. */
async function fill(index: string, member: (n: number) => string): Promise<void> {
  for (let from = 1; from <= MANY; from += 10_000) {
    const rows = Array.from({ length: Math.min(10_000, MANY + 1 - from) }, (_, n) => [from + n, member(from + n)]);
    await client.zadd(key(index), ...(rows.flat() as [number, string]));
  }
}

describe("counts", () => {
  it("of dead letters by reason look at a bounded number of them, and say so", async () => {
    await fill(`dead:${PAYMENTS}`, (n) => `${String(n).padStart(26, "0")}|${PAYMENTS}/orders`);
    const filter = { route: "payments", reason: "Status404" };
    expect((await get("dead-letters/count?route=payments")).body).toEqual({ count: MANY, atLeast: false });
    const counted = { count: 0, atLeast: true };
    expect((await get("dead-letters/count?route=payments&reason=Status404")).body).toEqual(counted);
    const preview = { preview: true, copies: 0, atLeast: true };
    expect((await post("dead-letters/discard", { filter, preview: true })).body).toEqual(preview);
    expect((await post("replays", { filter, preview: true })).body).toEqual(preview);
    const { body } = await post("replays", { filter });
    expect(body).toMatchObject({ total: 0, totalAtLeast: true });
    expect((await get(`replays/${body.id}`)).body).toMatchObject({ total: 0, totalAtLeast: true });
    expect((await post("replays", { filter: { route: "payments" } })).body).toMatchObject({ totalAtLeast: false });
  });

  it("of copies to be cancelled look at a bounded number of events, and say so", async () => {
    await fill(`log:${PAYMENTS}`, (n) => String(n).padStart(26, "0"));
    const asked = await post("copies/cancel", { filter: { route: "payments" }, preview: true });
    expect(asked.body).toEqual({ preview: true, copies: 0, atLeast: true });
  });

  it("and cancels of a namespace with very many routes end after some of them, and go on from there", async () => {
    const waiting = await custody.accept({ destinations: [{ destination: "~acme", limit: 16 }] });
    const routes = Array.from({ length: 60 }, (_, n) => String(n).padStart(16, "0"));
    await client.sadd(key("routes"), ...routes);
    const filter = { destination: "~acme" };
    expect((await post("copies/cancel", { filter, preview: true })).body).toMatchObject({ copies: 1, atLeast: false });
    let [copies, calls] = [0, 0];
    for (let cursor: string | undefined; calls === 0 || cursor !== undefined; calls++) {
      const { body } = await post("copies/cancel", { filter, ...(cursor !== undefined && { cursor }) });
      copies += body.copies;
      cursor = body.next;
    }
    expect([copies, calls]).toEqual([1, 3]);
    expect((await get(`routes/payments/events/${waiting}`)).body.copies[0].state).toBe("cancelled");
  });
});

describe("an event that only a newer Davit may read", () => {
  it("is told as that to whoever may see its route, and to nobody else", async () => {
    const id = await custody.accept();
    const refund = await custody.accept({ policy: policyOf(REFUNDS), destinations: [] });
    for (const one of [id, refund]) {
      const meta = (await client.hget(key(`e:${one}`), "m")) ?? "";
      await client.hset(key(`e:${one}`), "m", meta.replace(/^1 1 /, "9 9 "));
    }
    for (const include of ["", "?include=body"]) {
      const { status, body } = await get(`routes/payments/events/${id}${include}`);
      expect([status, body.error]).toEqual([409, "EventUnreadable"]);
      expect((await get(`routes/payments/events/${refund}${include}`)).body.error).toBe("NoSuchEvent");
    }
    for (const act of ["replay", "discard", "restore", "cancel"]) {
      expect((await post(`routes/payments/events/${id}/${act}`, {})).body.error).toBe("EventUnreadable");
      expect((await post(`routes/payments/events/${refund}/${act}`, {})).body.error).toBe("NoSuchEvent");
    }
  });
});

describe("what a caller may not see", () => {
  it("is not told by refusals: a replay of others and one that is not there", async () => {
    const { body } = await post("replays", { filter: { route: "refunds" } });
    const token = tokenFor(`get webhookroutes/replays ${custody.namespace}/payments`);
    const others = await get(`replays/${body.id}`, token);
    const none = await get(`replays/${"0".repeat(20)}`, token);
    expect([others.status, others.body]).toEqual([403, none.body]);
    expect(JSON.stringify(others.body)).not.toContain("refunds");
  });

  it("costs no question to the store: a namespace that is not there", async () => {
    const path = `/v1/namespaces/nowhere/replays/${"0".repeat(20)}`;
    const own = await startRedis();
    const lonely = await startConsoleCustody(own);
    onTestFinished(async () => {
      await lonely.close();
      await own.stop();
    });
    await own.kill9();
    expect((await call(lonely.running, path, { token: tokenFor("x") })).status).toBe(403);
    expect((await call(lonely.running, path)).body.error).toBe("NoSuchNamespace");
    expect((await call(lonely.running, `${path}/pause`, { method: "POST" })).body.error).toBe("NoSuchNamespace");
  });
});

describe("small requests", () => {
  it("make no large answer by having very much wrong with them", async () => {
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`f${n}`, 1]));
    const { status, body } = await post("replays", { filter: {}, ...fields });
    expect([status, body.problems.length, JSON.stringify(body).length < 20_000]).toEqual([400, 50, true]);
    expect(body.message).toContain("and 4950 more");
    const query = Array.from({ length: 3_000 }, (_, n) => `${n}`).join("&");
    expect((await get(`dead-letters?${query}`)).body.problems).toHaveLength(50);
  });

  it("with data that is nested very deeply are refused", async () => {
    const nested = (depth: number) => `{"data":${"[".repeat(depth)}${"]".repeat(depth)},"route":"payments"}`;
    for (const depth of [101, 30_000]) {
      const { status, body } = await post("destinations/acme/test", nested(depth));
      expect([status, body.problems[0].field]).toEqual([400, "data"]);
    }
    expect((await post("destinations/acme/test", nested(100))).status).toBe(202);
  });
});

describe("a caller that does not read", () => {
  it("loses its connection, and gives its places back", async () => {
    const own = await startConsoleCustody(redis, { withinMs: 1_000 });
    onTestFinished(() => own.close());
    await own.accept({ body: Buffer.alloc(1_000_000, "x") });
    const socket = connect(portOf(own.running.console.server), "127.0.0.1");
    socket.pause();
    socket.on("error", () => undefined);
    const head = `GET ${own.base}/routes/payments/sequence?include=body HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokenFor("all")}\r\n\r\n`;
    socket.write(head.repeat(16));
    const connections = () =>
      new Promise<number>((resolve) => own.running.console.server.getConnections((_, n) => resolve(n)));
    await expect.poll(connections).toBe(1);
    await expect.poll(connections, { timeout: 10_000 }).toBe(0);
    socket.resume();
    await once(socket, "close");
    expect((await call(own.running, `${own.base}/replays`)).status).toBe(200);
  });
});

describe("the console while Redis is frozen", () => {
  it("answers 503, whatever it is asked", async () => {
    const own = await startRedis();
    const lonely = await startConsoleCustody(own);
    onTestFinished(async () => {
      own.thaw();
      await lonely.close();
      await own.stop();
    });
    const id = await lonely.accept();
    own.freeze();
    const reads = [
      "dead-letters?reason=a",
      "dead-letters/count?reason=a",
      "replays",
      `routes/payments/events/${id}`,
      "routes/payments/sequence",
      "destinations",
      "destinations/acme",
    ];
    const writes = [
      ["replays", { filter: {} }],
      ["copies/cancel", { filter: { destination: "~acme" } }],
      [`routes/payments/events/${id}/cancel`, {}],
      ["destinations/acme/hold", { forSeconds: 5 }],
      ["destinations/acme/test", { route: "payments" }],
    ] as const;
    const answers = await Promise.all([
      ...reads.map((path) => call(lonely.running, `${lonely.base}/${path}`)),
      ...writes.map(([path, body]) => call(lonely.running, `${lonely.base}/${path}`, { method: "POST", body })),
    ]);
    const expected = [...reads, ...writes].map(() => [503, "StoreUnavailable"]);
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual(expected);
  });
});
