import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findRedisServer } from "../../src/custody/redis/embedded.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { aclNode, RedisUsers } from "../../src/custody/redis/users.ts";
import { heldPort } from "../support/held-port.ts";
import { renderChart } from "../support/chart.ts";
import type { KubeObject } from "../support/control-plane/client.ts";

// The chart's redis.conf and users.acl, read by a real server.
describe("the bundled Redis", () => {
  let dir: string;
  let server: ChildProcess;
  let port: number;
  let secret: Record<string, string>;
  let workerUrl: string;
  const closers: (() => void)[] = [];

  const find = (objects: readonly KubeObject[], kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name) as KubeObject;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "davit-chart-"));
    port = await heldPort();
    const objects = await renderChart({ values: { redis: { users: "Shared" }, console: { enabled: true } } });
    secret = find(objects, "Secret", "davit-redis-credentials")["stringData"];
    workerUrl = find(objects, "Secret", "davit-redis")["stringData"].url;
    const conf: string = find(objects, "ConfigMap", "davit-redis")["data"]["redis.conf"];
    const here = conf
      .replace("port 6379", `port ${port}\nbind 127.0.0.1`)
      .replace("dir /data", `dir ${dir}`)
      .replace("/etc/redis/acl/users.acl", join(dir, "users.acl"));
    writeFileSync(join(dir, "redis.conf"), here);
    writeFileSync(join(dir, "users.acl"), secret["users.acl"] as string);
    server = spawn(findRedisServer(), [join(dir, "redis.conf")], { stdio: "ignore" });
    // It waits for the connection.
    await client(undefined).ping();
  });
  afterAll(async () => {
    for (const close of closers) close();
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
    rmSync(dir, { recursive: true });
  });

  const at = (url: string) => Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href;
  function client(url: string | undefined): Redis {
    const redis = new Redis(url === undefined ? `redis://127.0.0.1:${port}` : at(url), {
      retryStrategy: () => 100,
      enableReadyCheck: false,
      maxRetriesPerRequest: 50,
    });
    redis.on("error", () => undefined);
    closers.push(() => redis.disconnect());
    return redis;
  }
  const urlOf = (role: string) => (role === "worker" ? workerUrl : (secret[`${role}Url`] as string));

  it.each(["controller", "gateway", "console", "worker"])("lets the %s do its work", async (role) => {
    const store = new RedisStore({ url: at(urlOf(role)) });
    closers.push(() => store.close());
    expect(await store.start()).toMatchObject({ up: true });
    await store.selfTest({ instance: "default", namespace: "shop" });
  });

  it("is durable as gateways demand it, and they can see that", async () => {
    const store = new RedisStore({ url: at(urlOf("gateway")) });
    closers.push(() => store.close());
    expect(await store.start()).toMatchObject({ durable: { ok: true, source: "verified" } });
  });

  it.each([
    ["a guest", undefined, ["INFO"]],
    ["a guest", undefined, ["GET", "davit:default:{shop}:live"]],
    ["a guest", undefined, ["SUBSCRIBE", "davit:default:{shop}:hints"]],
    ["the gateway", "gateway", ["FLUSHALL"]],
    ["the gateway", "gateway", ["CONFIG", "SET", "appendonly", "no"]],
    ["the gateway", "gateway", ["KEYS", "*"]],
    ["the gateway", "gateway", ["ACL", "WHOAMI"]],
    ["the gateway", "gateway", ["GET", "davit:other:{shop}:live"]],
    ["the console", "console", ["CONFIG", "GET", "requirepass"]],
    ["the console", "console", ["KEYS", "*"]],
    ["the console", "console", ["GET", "davit:other:{shop}:live"]],
    ["the worker", "worker", ["ACL", "LIST"]],
    ["the controller", "controller", ["FLUSHALL"]],
    ["the controller", "controller", ["GET", "davit:other:{shop}:live"]],
  ])("refuses %s what is not theirs: %s %j", async (_, role, command) => {
    const [name, ...args] = command as [string, ...string[]];
    const redis = client(role === undefined ? undefined : urlOf(role));
    await expect(redis.call(name, ...args)).rejects.toThrow(/NOPERM/);
  });

  it("lets the controller make the users of workers", async () => {
    const node = aclNode(at(urlOf("controller")));
    closers.push(() => node.close());
    const scope = { role: "worker", instance: "default", namespace: "shop" } as const;
    const report = await new RedisUsers([node], "default").ensure([{ ...scope, password: "p" }], true);
    expect(report).toEqual({ changed: ["davit_default_worker_shop"], removed: [], failed: [] });
    expect(await client(urlOf("gateway")).ping()).toBe("PONG");
  });
});
