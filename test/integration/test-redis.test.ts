import { existsSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { startRedis, type TestRedis } from "../support/redis.ts";

const started: TestRedis[] = [];
const start = async (...args: Parameters<typeof startRedis>) => {
  const redis = await startRedis(...args);
  started.push(redis);
  return redis;
};

afterEach(async () => {
  await Promise.all(started.splice(0).map((redis) => redis.stop()));
});

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("the server runs with the durable settings", async () => {
  const redis = await start({ maxmemory: "64mb" });
  const client = redis.client();
  const setting = async (name: string) => Object.values(await client.config("GET", name)).at(-1);
  const pairs = Object.fromEntries(
    await Promise.all(
      ["appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy", "no-appendfsync-on-rewrite"].map(
        async (name) => [name, await setting(name)],
      ),
    ),
  );
  expect(pairs).toMatchObject({
    appendonly: "yes",
    appendfsync: "always",
    save: "",
    maxmemory: String(64 * 1024 * 1024),
    "maxmemory-policy": "noeviction",
    "no-appendfsync-on-rewrite": "no",
  });
});

test("a frozen server keeps its connections and answers after the thaw", async () => {
  const redis = await start();
  const client = redis.client();
  await client.set("a", "1");
  redis.freeze();
  const answer = client.get("a");
  const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 200, "silence"))]);
  expect(first).toBe("silence");
  redis.thaw();
  expect(await answer).toBe("1");
});

test("what was written survives kill -9 and a restart on the same port", async () => {
  const redis = await start();
  await redis.client().set("a", "1");
  const before = redis.pid;
  await redis.kill9();
  expect(isAlive(before)).toBe(false);
  await redis.restart();
  expect(redis.pid).not.toBe(before);
  expect(await redis.client().get("a")).toBe("1");
});

test("stop ends the process, also a frozen one, and removes its directory", async () => {
  const redis = await start();
  const { pid, dir } = redis;
  redis.freeze();
  await redis.stop();
  expect(isAlive(pid)).toBe(false);
  expect(existsSync(dir)).toBe(false);
});

test("a server that cannot start fails with its log", async () => {
  await expect(startRedis({ args: ["--no-such-setting", "1"] })).rejects.toThrow(/no-such-setting/);
});
