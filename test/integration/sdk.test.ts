import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/observability/logger.ts";
import * as sdk from "../../src/sdk/index.ts";
import { heldPort } from "../support/held-port.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SECRET = "a-secret-of-some-length";
const sign = (body: string | Buffer, secret = SECRET) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly json: { jobId?: string; replayed?: boolean; error?: string };
}

function post(
  port: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
  path = "/hooks",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, path, method: "POST", headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const json = text.startsWith("{") ? (JSON.parse(text) as Answer["json"]) : {};
        resolve({ status: response.statusCode ?? 0, headers: response.headers, json });
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function until(met: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
  return false;
}

describe("the SDK", () => {
  let redis: TestRedis;
  const closers: (() => unknown)[] = [];
  const quiet = { logger: silentLogger };

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
    await redis.stop();
  });

  const listen = async (app: { listen: (port: number, host: string) => Server }): Promise<number> => {
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    return (server.address() as AddressInfo).port;
  };
  const ready = (port: number) =>
    until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200, 30_000);
  const serve = async (options: Partial<sdk.ServerOptions> = {}) => {
    const port = await listen(sdk.createServer({ secret: SECRET, redisUrl: redis.url, ...quiet, ...options }));
    await ready(port);
    return port;
  };
  const work = async (handler: sdk.Handler, options: sdk.WorkerOptions = {}) => {
    const worker = sdk.createWorker(handler, { redisUrl: redis.url, ...quiet, ...options });
    closers.push(() => worker.close());
    await worker.start();
    return worker;
  };

  test("exports exactly three functions", () => {
    expect(Object.keys(sdk).toSorted()).toEqual(["createServer", "createWorker", "replayDeadLetter"]);
  });

  test("takes one job of 200 concurrent copies of a delivery", async () => {
    const port = await serve();
    const seen: string[] = [];
    await work(({ id }) => void seen.push(id));
    const body = '{"n":1}';
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => post(port, body, { "x-signature": sign(body) })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ json }) => json.jobId)).size).toBe(1);
    expect(answers.filter(({ json }) => json.replayed === false)).toHaveLength(1);
    expect(await until(() => seen.length > 0, 30_000)).toBe(true);
    await sleep(300);
    expect(seen).toEqual([answers[0]?.json.jobId]);
  });

  test("takes the same signature in upper and lower case for one delivery", async () => {
    const port = await serve();
    const body = "case";
    const lower = sign(body);
    const upper = `sha256=${lower.slice(7).toUpperCase()}`;
    const [first, second] = [
      await post(port, body, { "x-signature": lower }),
      await post(port, body, { "x-signature": upper }),
    ];
    expect([first.json.replayed, second.json.replayed, second.json.jobId]).toEqual([false, true, first.json.jobId]);
  });

  test("hands the handler the body, its bytes, the signature, the headers and the id", async () => {
    const port = await serve();
    const seen: [sdk.WebhookPayload, sdk.HandlerJob][] = [];
    await work((payload, job) => void seen.push([payload, job]));
    const body = Buffer.from([0xff, 0x00, 0x7b]);
    const headers = {
      "x-signature": sign(body).toUpperCase().replace("SHA256=", "sha256="),
      "x-event": "made",
      authorization: "Bearer x",
    };
    const { json } = await post(port, body, headers);
    expect(await until(() => seen.length === 1, 30_000)).toBe(true);
    const [payload, job] = seen[0] ?? [];
    expect(payload).toMatchObject({ id: json.jobId, rawBody: body, headers: { "x-event": "made" } });
    expect(payload?.body).toBe(body.toString("utf8"));
    expect(payload?.sig.toLowerCase()).toContain(sign(body).slice(7));
    expect(payload?.headers).not.toHaveProperty("authorization");
    expect(payload?.headers).not.toHaveProperty("x-signature");
    expect(Math.abs(Date.now() - (payload?.receivedAt ?? 0))).toBeLessThan(10_000);
    expect(job).toMatchObject({ id: json.jobId, queueName: "webhooks", attemptsMade: 0, attempt: 1 });
  });

  test.each([
    ["a missing signature", {}],
    ["an empty signature", { "x-signature": "" }],
    ["a malformed signature", { "x-signature": "sha256=zz" }],
    ["a wrong signature", { "x-signature": sign("other") }],
    ["a signature by another secret", { "x-signature": sign("{}", "another-secret-entirely") }],
  ])("answers %s with 401 and stores nothing", async (_name, headers) => {
    const port = await serve();
    expect((await post(port, "{}", headers)).status).toBe(401);
    const admin = redis.client();
    expect(await admin.keys("*:e:*")).toEqual([]);
  });

  test("answers 413 for a body over the limit", async () => {
    const port = await serve({ maxBodyBytes: "1kb" });
    const body = "x".repeat(1_025);
    expect((await post(port, body, { "x-signature": sign(body) })).status).toBe(413);
    expect((await post(port, body.slice(1), { "x-signature": sign(body.slice(1)) })).status).toBe(202);
  });

  test("answers 429 with Retry-After by the client address that trust proxy decides", async () => {
    const app = sdk.createServer({
      secret: SECRET,
      redisUrl: redis.url,
      rateLimit: { windowMs: 60_000, max: 2 },
      ...quiet,
    });
    app.set("trust proxy", true);
    const port = await listen(app);
    await ready(port);
    const from = async (client: string, body: string) =>
      post(port, body, { "x-signature": sign(body), "x-forwarded-for": client });
    const first = [await from("203.0.113.1", "a"), await from("203.0.113.1", "b"), await from("203.0.113.1", "c")];
    expect(first.map(({ status }) => status)).toEqual([202, 202, 429]);
    expect(Number(first[2]?.headers["retry-after"])).toBeGreaterThan(0);
    expect((await from("203.0.113.2", "d")).status).toBe(202);
  });

  test("answers 503 while Redis is away, says so on /readyz, and goes on by itself", async () => {
    const port = await heldPort();
    const app = sdk.createServer({ secret: SECRET, redisUrl: `redis://127.0.0.1:${port}`, ...quiet });
    const at = await listen(app);
    const answer = await post(at, "x", { "x-signature": sign("x") });
    expect([answer.status, answer.headers["retry-after"] !== undefined]).toEqual([503, true]);
    expect((await fetch(`http://127.0.0.1:${at}/readyz`)).status).toBe(503);
    expect((await fetch(`http://127.0.0.1:${at}/healthz`)).status).toBe(200);
    const late = await startRedis({ port });
    closers.unshift(() => late.stop());
    expect(await ready(at)).toBe(true);
    expect((await post(at, "x", { "x-signature": sign("x") })).json.replayed).toBe(false);
  });

  test("can be mounted in another app, beside its routes", async () => {
    const inner = sdk.createServer({ secret: SECRET, redisUrl: redis.url, ...quiet });
    closers.push(() => inner.close());
    const outer = express();
    outer.get("/hello", (_request, response) => void response.send("hello"));
    outer.use("/webhooks", inner);
    const port = await listen(outer);
    await until(async () => (await fetch(`http://127.0.0.1:${port}/webhooks/readyz`)).status === 200, 30_000);
    expect((await post(port, "m", { "x-signature": sign("m") }, "/webhooks/in")).status).toBe(202);
    expect(await (await fetch(`http://127.0.0.1:${port}/hello`)).text()).toBe("hello");
  });

  test("takes webhooks on one path only when told so, and serves own routes beside", async () => {
    const app = sdk.createServer({ secret: SECRET, redisUrl: redis.url, path: "/in", ...quiet });
    app.post("/other", (_request, response) => void response.status(418).end());
    const port = await listen(app);
    await ready(port);
    expect((await post(port, "p", { "x-signature": sign("p") }, "/in")).status).toBe(202);
    expect((await post(port, "p", { "x-signature": sign("p") }, "/other")).status).toBe(418);
    expect((await fetch(`http://127.0.0.1:${port}/in`)).status).toBe(405);
  });

  test("verifies as a provider does", async () => {
    const port = await serve({ provider: "stripe" });
    const body = '{"id":"evt_1","type":"charge.succeeded"}';
    const signed = (offsetS: number) => {
      const t = Math.floor(Date.now() / 1_000) + offsetS;
      return { "stripe-signature": `t=${t},v1=${createHmac("sha256", SECRET).update(`${t}.${body}`).digest("hex")}` };
    };
    const first = await post(port, body, signed(0));
    const again = await post(port, body, signed(-5));
    expect([first.status, again.json]).toEqual([202, { jobId: first.json.jobId, replayed: true }]);
    expect((await post(port, body, signed(-400))).status).toBe(401);
  });

  test("is dead on the 4th failure, with its context, and replayed by a separate act with a fresh schedule", async () => {
    const port = await serve();
    const attempts: { at: number; made: number }[] = [];
    let failing = true;
    await work((_payload, { attemptsMade }) => {
      attempts.push({ at: Date.now(), made: attemptsMade });
      if (failing) throw new Error("cannot reach https://user:pa55@db.example.com/x");
    });
    const { json } = await post(port, "doomed", { "x-signature": sign("doomed") });
    const admin = redis.client();
    const dead = async () => (await admin.keys("*:dead")).length > 0;
    expect(await until(dead, 50_000)).toBe(true);
    expect(attempts.map(({ made }) => made)).toEqual([0, 1, 2, 3]);
    const gaps = attempts.slice(1).map(({ at }, index) => (at - (attempts[index]?.at ?? 0)) / 1_000);
    for (const [index, wanted] of [1, 5, 30].entries()) {
      expect(gaps[index]).toBeGreaterThanOrEqual(wanted - 0.1);
      expect(gaps[index]).toBeLessThan(wanted + 3);
    }
    const [record = ""] = await admin.keys("*:e:*");
    const stored = JSON.stringify(await admin.hgetall(record));
    expect(stored).not.toContain("pa55");
    expect(stored).toContain("db.example.com");

    await sleep(500);
    expect(attempts, "dead means that nothing retries it").toHaveLength(4);
    failing = false;
    expect(await sdk.replayDeadLetter("01ARZ3NDEKTSV4RRFFQ69G5FAV", { redisUrl: redis.url })).toEqual({
      replayed: false,
      jobId: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    });
    expect(await sdk.replayDeadLetter(json.jobId ?? "", { redisUrl: redis.url })).toEqual({
      replayed: true,
      jobId: json.jobId,
    });
    expect(await until(() => attempts.length === 5, 30_000)).toBe(true);
    expect(attempts[4]?.made).toBe(0);
    expect(await until(async () => !(await dead()), 30_000)).toBe(true);
  }, 90_000);

  test("starts a worker before Redis is up", async () => {
    const port = await heldPort();
    const redisUrl = `redis://127.0.0.1:${port}`;
    const seen: string[] = [];
    await work(({ body }) => void seen.push(body), { redisUrl });
    await sleep(1_000);
    const late = await startRedis({ port });
    closers.unshift(() => late.stop());
    const at = await listen(sdk.createServer({ secret: SECRET, redisUrl, ...quiet }));
    await ready(at);
    await post(at, "late", { "x-signature": sign("late") });
    expect(await until(() => seen.includes("late"), 30_000)).toBe(true);
  });

  describe("a worker whose Redis is gone for good", () => {
    /** @returns exit code and what was printed, once it ended by itself */
    const outcomeOf = async (redisUrl: string, isReady: (printed: string) => Promise<boolean>) => {
      const child = spawn(process.execPath, ["test/support/sdk-worker-process.ts"], {
        env: { ...process.env, REDIS_URL: redisUrl, DAVIT_LOG_LEVEL: "warn" },
        stdio: ["ignore", "pipe", "inherit"],
      });
      closers.push(() => void child.kill("SIGKILL"));
      let printed = "";
      child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
      const ended = once(child, "exit") as Promise<[number | null]>;
      expect(await until(() => isReady(printed), 45_000)).toBe(true);
      child.kill("SIGUSR2");
      const [code] = await Promise.race([ended, sleep(45_000, ["still there"])]);
      return { code, printed };
    };

    test("closes, says so and leaves nothing that keeps the process, with an outcome it could not settle", async () => {
      const port = await serve();
      await post(port, "n", { "x-signature": sign("n") });
      const { code, printed } = await outcomeOf(redis.url, async (soFar) => {
        if (!soFar.includes("handling")) return false;
        await redis.kill9();
        return true;
      });
      expect(code).toBe(0);
      expect(printed).toContain("stopping without the store");
      expect(printed).toContain("1 outcome unsaid");
      expect(printed).toContain("closed\n");
    }, 100_000);

    test("closes and ends when Redis never came", async () => {
      const redisUrl = `redis://127.0.0.1:${await heldPort()}`;
      const { code, printed } = await outcomeOf(redisUrl, async (soFar) => soFar.includes("started"));
      expect(code).toBe(0);
      expect(printed).toContain("closed\n");
    }, 100_000);
  });

  test("runs at most `concurrency` handlers, and close waits for those that run", async () => {
    const port = await serve();
    let [running, most, finished] = [0, 0, 0];
    const worker = await work(
      async () => {
        most = Math.max(most, ++running);
        await sleep(200);
        running--;
        finished++;
      },
      { concurrency: 3 },
    );
    for (let i = 0; i < 12; i++) await post(port, `n${i}`, { "x-signature": sign(`n${i}`) });
    await until(() => finished >= 3, 30_000);
    await worker.close();
    const atClose = finished;
    expect([most, running]).toEqual([3, 0]);
    await sleep(400);
    expect(finished).toBe(atClose);
  });

  test.each([
    [{ secret: "short" }, "secret"],
    [{ secret: "" }, "secret"],
    [{ secret: SECRET, provider: "nobody" }, "provider"],
    [{ secret: SECRET, queueName: "a{b}" }, "queueName"],
    [{ secret: SECRET, maxBodyBytes: "lots" }, "maxBodyBytes"],
    [{ secret: SECRET, dedupeTtlSeconds: 0 }, "dedupeTtlSeconds"],
    [{ secret: SECRET, rateLimit: { windowMs: 0, max: 1 } }, "rateLimit.windowMs"],
  ])("refuses the options %j, naming %s", (options, name) => {
    expect(() => sdk.createServer({ redisUrl: redis.url, ...options })).toThrow(name);
  });
});
