import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secretsOf, senderAs } from "../../src/cli/send/testing.ts";
import { signMessage } from "../../src/cli/send/request.ts";
import { destinationEntry, HOST } from "../../src/gateway/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { presets } from "../../src/verification/presets/index.ts";
import { presetOf } from "../../src/verification/verifier.ts";
import { startGateway, type Running } from "../support/gateway.ts";
import { sendTo } from "../support/gateway.ts";
import { keyFor, providerRoute, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const TOKEN = "q7Rk2mXv9TzL4pWs";
const TYPO = "q7Rk2mXv9TzL4pWx";

/** Everything that lies in Redis, as text. */
async function contents(client: ReturnType<TestRedis["client"]>): Promise<string> {
  const parts: unknown[] = [];
  for (const key of await client.keys("*")) {
    parts.push(key);
    const type = await client.type(key);
    if (type === "string") parts.push(await client.get(key));
    if (type === "hash") parts.push(await client.hgetall(key));
    if (type === "list") parts.push(await client.lrange(key, 0, -1));
    if (type === "set") parts.push(await client.smembers(key));
    if (type === "zset") parts.push(await client.zrange(key, "0", "-1"));
  }
  return JSON.stringify(parts);
}

describe("a token in the query", () => {
  let redis: TestRedis;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.stop());

  it.each([...presets.keys()].filter((name) => tokenParameter(name) !== undefined))(
    "of %s is in no log, metric, answer, event or trace, right or mistyped",
    async (provider) => {
      const everything = [destinationEntry("orders", { forwardHeaders: ["*"] })];
      const route = providerRoute(provider, { keys: [keyFor("Signing", TOKEN)], destinations: everything });
      const running = await startGatewayOverRedis(redis, [route]);
      const { body, headers } = signMessage(senderAs(presetOf(provider), "https://hooks.example.com/push"), "/push", {
        id: "d-1",
        idInBody: true,
        now: Date.now(),
      });
      const name = tokenParameter(provider) ?? "";
      const texts: string[] = [];
      const send = async (path: string, changes: { method?: string; body?: string | Buffer } = {}) => {
        const proxied = { ...headers, "x-original-url": path, referer: `https://hooks.example.com${path}` };
        const answer = await sendTo(running, { path, body, headers: proxied, ...changes });
        texts.push(answer.text, JSON.stringify(answer.headers));
        return answer.status;
      };
      expect(await send(`/push?${name}=${TOKEN}`)).toBe(route.response.status);
      expect(await send(`/push?${name}=${TYPO}`)).toBe(401);
      expect(await send(`/push?${name}=${TOKEN}&${name}=${TYPO}`)).toBe(401);
      expect(await send(`/push?nothing=${TOKEN}`)).toBe(400);
      expect(await send(`/elsewhere?${name}=${TOKEN}`)).toBe(404);
      expect(await send(`/push?${name}=${TOKEN}`, { method: "PUT" })).toBe(405);
      expect(await send(`/push?${name}=${TOKEN}`, { body: Buffer.alloc(route.limits.maxBodyBytes + 1) })).toBe(413);
      await send(`/push?${name}=${TOKEN}`, { body: "[" });
      await send(`/push?${name}=${TOKEN}`, { method: "GET" });
      await send(`/push?${name}=${TOKEN}`, { method: "HEAD" });
      await expect.poll(() => running.ledger.rejections(route.route)).not.toEqual([]);
      const metrics = await running.metrics.registry.metrics();
      const seen = [running.log(), metrics, ...texts, await contents(redis.client())].join("\n");
      await running.close();
      expect(seen).toContain("TokenMismatch");
      for (const secret of [TOKEN, TYPO]) expect(seen).not.toContain(secret);
    },
  );
});

function tokenParameter(name: string): string | undefined {
  const { scheme } = presetOf(name);
  const config = typeof scheme === "function" ? scheme({}) : scheme;
  return config.type === "query-token" ? config.parameter : undefined;
}

describe("a key that is for something else", () => {
  const shared = [...presets.values()].filter(({ secrets }) => secrets.signing === "shared");
  const parametersOf = (name: string) =>
    Object.fromEntries(
      presetOf(name)
        .parameters.filter(({ required }) => required)
        .map((parameter) => [parameter.name, parameter.values?.[0] ?? "value"]),
    );
  let running: Running;
  afterEach(() => running.gateway.close(0));

  it.each(["VerifyToken", "ApiCredential"] as const)("never verifies a signature: %s", async (use) => {
    const route = (name: string, place: string, uses: readonly RouteEntry["keys"][number]["use"][]): RouteEntry => {
      const path = `/${place}/${name}`;
      const [secret = ""] = secretsOf(presetOf(name));
      const keys = uses.map((one) => keyFor(one, one === use ? secret : `${secret.slice(1)}0`));
      const url = `https://${HOST}${path}`;
      return providerRoute(name, { keys, path, publicUrl: url, route: path, parameters: parametersOf(name) });
    };
    const routes = shared.flatMap(({ name }) => [route(name, "alone", [use]), route(name, "beside", ["Signing", use])]);
    running = await startGateway(routes);
    const accepted: string[] = [];
    for (const { path, publicUrl, verification, parameters } of routes) {
      const preset = presetOf(verification.type === "provider" ? verification.provider : "");
      const draft = { id: "d-1", idInBody: true, now: Date.now() };
      const message = signMessage({ ...senderAs(preset, publicUrl), parameters }, path, draft);
      const { status } = await sendTo(running, { ...message, headers: { ...message.headers } });
      if (status < 400) accepted.push(path);
    }
    expect(routes.length).toBeGreaterThan(150);
    expect(accepted).toEqual([]);
    expect(running.inbox.claimed).toEqual([]);
  });
});

describe("requests for what does not exist", () => {
  it("make no series of their own, whatever their path, host, method and query are", async () => {
    const running = await startGateway([providerRoute("github")]);
    const series = async () =>
      (await running.metrics.registry.metrics())
        .split("\n")
        .map((line) => line.replace(/ [^ ]*$/, ""))
        .filter((line) => line.startsWith("davit_ingest"));
    await sendTo(running, { path: "/none" });
    await sendTo(running, { path: "/push" });
    const before = await series();
    for (let n = 0; n < 100; n++) {
      const headers = { host: `${n}.example.com`, "x-github-event": `event-${n}`, "x-github-delivery": `d-${n}` };
      await sendTo(running, { path: `/${n}/%00%ff"{}\\?${n}=${n}`, headers });
      await sendTo(running, { path: `/push?${n}`, method: ["PUT", "DELETE", "PATCH", "OPTIONS"][n % 4] ?? "" });
      await sendTo(running, { path: "/push", headers: { ...headers, host: HOST }, body: `{"n":${n}}` });
      await running.raw(`M${n} /push HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`, { quietMs: 5 });
    }
    expect(await series()).toEqual(before);
    expect(before.length).toBeGreaterThan(10);
    await running.gateway.close(0);
  });
});
