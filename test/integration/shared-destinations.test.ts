import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { resolveSpec } from "../../src/api/defaults.ts";
import type { WebhookDestination } from "../../src/api/generated/webhook-destination.ts";
import type { WebhookRoute } from "../../src/api/generated/webhook-route.ts";
import { DEFAULT_CIRCUIT } from "../../src/custody/gate.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { NamespaceWorker } from "../../src/delivery/namespace-worker.ts";
import { workerDestinations } from "../../src/delivery/worker-destinations.ts";
import type { HttpSender } from "../../src/egress/http-sender.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { compileDestination } from "../../src/routes/compile-destination.ts";
import type { DestinationEntry, RouteEntry } from "../../src/routes/entry.ts";
import { published } from "../../src/routes/publication.ts";
import type { KnownDestination } from "../../src/routes/shared-copies.ts";
import { entryOf, routeOf, secretsOf } from "../../src/routes/testing.ts";
import {
  decodeWorkerConfig,
  encodeWorkerConfig,
  mergeDestinations,
  mergeWorkerConfigs,
  workerConfigs,
} from "../../src/routes/worker-config.ts";
import { sendTo } from "../support/gateway.ts";
import { type GatewayOverRedis, startGatewayOverRedis } from "../support/gateway-over-redis.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SCOPE = { instance: "default", namespace: "shop" };
const SECRETS = secretsOf({ github: { secret: "s" }, acme: { token: "Bearer t" } }, { "davit.dev/use": "true" });

/** Receives for one destination. */
interface Receiver {
  readonly url: string;
  readonly got: { readonly headers: IncomingHttpHeaders; readonly body: string }[];
  /** Most requests at a time. */
  most: number;
  /** What it answers. Default: 200. */
  status: number;
}

describe("routes that deliver to WebhookDestinations", () => {
  let redis: TestRedis;
  let gateway: GatewayOverRedis;
  let worker: NamespaceWorker;
  let sender: HttpSender;
  const servers: Server[] = [];

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await worker.stop();
    await gateway.close();
    await sender.close();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await redis.stop();
  });

  async function receiver(delayMs = 0): Promise<Receiver> {
    let running = 0;
    const server = createServer((request, response) => {
      running += 1;
      made.most = Math.max(made.most, running);
      let body = "";
      request.on("data", (data: Buffer) => (body += data.toString()));
      request.on("end", () => {
        made.got.push({ headers: request.headers, body });
        setTimeout(() => {
          running -= 1;
          response.writeHead(made.status).end();
        }, delayMs);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    servers.push(server);
    const made: Receiver = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
      got: [],
      most: 0,
      status: 200,
    };
    return made;
  }

  function destination(name: string, url: string, spec: Partial<WebhookDestination["spec"]> = {}): WebhookDestination {
    return {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookDestination",
      metadata: { name, namespace: "shop", labels: { tier: "gold" } },
      spec: { url, allowInsecureHTTP: true, ...spec },
    };
  }

  function entryFor(object: WebhookDestination, seq: number): DestinationEntry {
    const input = {
      destination: object,
      namespace: "shop",
      secrets: SECRETS,
      now: Date.now(),
      releaseKey: Buffer.from("k"),
    };
    const result = compileDestination(input);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    return { ...result.entry, seq };
  }

  function route(name: string, spec: Partial<WebhookRoute["spec"]>, known: readonly KnownDestination[]): RouteEntry {
    const exposure = { host: "hooks.example.com", path: `/shop/${name}` };
    const made = routeOf({ exposure, destinations: [], ...spec });
    const written = { ...made, metadata: { ...made.metadata, name } };
    const validation = { problems: [], route: written, spec: resolveSpec(written.spec, undefined) };
    return { ...entryOf({ route: written, validation, destinations: known, secrets: SECRETS }), seq: 5 };
  }

  /** What a worker has of both after its config went through Secrets. */
  function configured(routes: readonly RouteEntry[], destinations: readonly DestinationEntry[]) {
    const parts = workerConfigs("default", "shop", routes, destinations).map((part) => {
      const reading = decodeWorkerConfig(encodeWorkerConfig(part));
      if (!reading.ok) throw new Error(reading.message);
      return reading.config;
    });
    return workerDestinations(mergeWorkerConfigs(parts), {
      destinations: mergeDestinations(parts),
      isLive: () => true,
    });
  }

  async function start(routes: readonly RouteEntry[], destinations: readonly DestinationEntry[]): Promise<void> {
    const served = routes.map((entry) => {
      const publication = published(entry);
      if (!("entry" in publication)) throw new Error("no entry");
      return publication.entry;
    });
    gateway = await startGatewayOverRedis(redis, served);
    sender = loopbackSender();
    const attempt = createHttpAttempt(sender);
    const { store } = gateway;
    worker = new NamespaceWorker({
      store,
      scope: SCOPE,
      attempt,
      destinations: configured(routes, destinations),
      logger: silentLogger,
    });
    await worker.start();
  }

  async function send(path: string, event: object): Promise<{ readonly status: number; readonly id: string }> {
    const body = JSON.stringify(event);
    const signature = `sha256=${createHmac("sha256", "s").update(body).digest("hex")}`;
    const headers = {
      "content-type": "application/json",
      "x-hub-signature-256": signature,
      "x-github-delivery": randomUUID(),
      "x-github-event": "push",
    };
    const { status, text } = await sendTo(gateway, { path: `/shop/${path}`, body, headers });
    return { status, id: (JSON.parse(text) as { id?: string }).id ?? "" };
  }

  const until = async (met: () => boolean | Promise<boolean>, ms = 30_000): Promise<boolean> => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
    return false;
  };
  const GOLD = { matchLabels: { tier: "gold" } };

  test("a selector gives each match its copy, by what destination and route say together", async () => {
    const [a, b] = [await receiver(), await receiver()];
    const objects = [
      destination("a", a.url, { headersFrom: [{ name: "Authorization", secretRef: { name: "acme", key: "token" } }] }),
      destination("b", b.url),
    ];
    const known = objects.map(({ metadata: { name } }) => ({ name, id: `~${name}`, labels: { tier: "gold" } }));
    const spec = { destinationSelector: GOLD, delivery: { headers: { "X-Team": "payments" } } };
    await start(
      [route("all", spec, known)],
      objects.map((object, index) => entryFor(object, index + 1)),
    );
    const { status, id } = await send("all", { n: 1 });
    expect(status).toBe(202);
    expect(await until(() => a.got.length + b.got.length === 2)).toBe(true);
    for (const { got } of [a, b]) {
      expect(got[0]).toMatchObject({
        body: '{"n":1}',
        headers: { "webhook-id": id, "davit-route": "shop/all", "x-team": "payments" },
      });
    }
    expect([a, b].map(({ got }) => got[0]?.headers.authorization)).toEqual(["Bearer t", undefined]);
    const isDone = async () =>
      (await gateway.ledger.event(id))?.copies.every(({ state }) => state === "delivered") === true;
    expect(await until(isDone)).toBe(true);
    expect((await gateway.ledger.event(id))?.bodyBytes).toBe(0);
  });

  test("idFrom gives the one that the event names its copy; an event that names none is refused", async () => {
    const [a, b] = [await receiver(), await receiver()];
    const objects = [destination("a", a.url, { id: "Acme GmbH/1" }), destination("b", b.url)];
    await start(
      [route("chosen", { destinationSelector: { ...GOLD, idFrom: "json:/to" } }, [])],
      objects.map((object, index) => entryFor(object, index + 1)),
    );
    expect((await send("chosen", { to: "Acme GmbH/1" })).status).toBe(202);
    expect(await until(() => a.got.length === 1)).toBe(true);
    expect((await send("chosen", { n: 1 })).status).toBe(422);
    expect((await send("chosen", { to: "" })).status).toBe(422);
    expect([a.got.length, b.got.length]).toEqual([1, 0]);
  });

  test("an event reaches no WebhookDestination but those that its route selects; another one is as good as none", async () => {
    const [gold, silver] = [await receiver(), await receiver()];
    const chosen = route("chosen", { destinationSelector: { ...GOLD, idFrom: "json:/to" } }, []);
    const other = destination("silver", silver.url);
    const relabelled = (tier: string) => ({ ...other, metadata: { ...other.metadata, labels: { tier } } });
    const known = entryFor(destination("gold", gold.url), 1);
    const named = route("named", { destinations: [{ name: "s", destinationRef: { name: "silver" } }] }, [
      { name: "silver", id: "~silver", labels: {} },
    ]);
    const routes = [chosen, named];
    await start(routes, [known, entryFor(relabelled("silver"), 2)]);
    await send("chosen", { to: "gold" });
    const [young, old] = [await send("chosen", { to: "silver", n: 1 }), await send("chosen", { to: "silver", n: 2 })];
    await send("named", { n: 3 });
    await agedBy(old.id, 61_000);
    const copyOf = async ({ id }: { readonly id: string }) => (await gateway.ledger.event(id))?.copies[0];
    expect(await until(async () => (await copyOf(old))?.state === "dead")).toBe(true);
    expect((await copyOf(old))?.attempts.at(-1)).toMatchObject({ reason: "NoSuchDestination" });
    // What another route sends there goes on.
    expect(await until(() => silver.got.length === 1 && gold.got.length === 1)).toBe(true);
    expect(silver.got[0]?.body).toBe('{"n":3}');
    expect((await copyOf(young))?.state).toBe("delayed");
    worker.update(configured(routes, [known, entryFor(relabelled("gold"), 2)]));
    await gateway.ledger.replay(old.id);
    expect(await until(() => silver.got.length === 3)).toBe(true);
  });

  test("copies wait for a destination that is gone while their route names it, untouched, and go when it is back", async () => {
    const shared = await receiver();
    const known = [{ name: "a", id: "~a", labels: { tier: "gold" } }];
    const naming = route("naming", { destinations: [{ name: "eu", destinationRef: { name: "a" } }] }, known);
    await start([naming], []);
    const sent: string[] = [];
    for (let n = 0; n < 5; n += 1) sent.push((await send("naming", { n })).id);
    for (const id of sent) await agedBy(id, 3_600_000);
    await sleep(7_000);
    const copies = await Promise.all(sent.map(async (id) => (await gateway.ledger.event(id))?.copies[0]));
    expect(copies).toEqual(copies.map(() => expect.objectContaining({ state: "waiting", attempts: [] })));
    worker.update(configured([naming], [entryFor(destination("a", shared.url), 2)]));
    expect(await until(() => shared.got.length === 5)).toBe(true);
  });

  test("one limit holds for all routes that share a destination", async () => {
    const shared = await receiver(60);
    const known = [{ name: "a", id: "~a", labels: { tier: "gold" } }];
    const named = { destinations: [{ name: "eu", destinationRef: { name: "a" } }] };
    await start(
      [route("one", named, known), route("all", { destinationSelector: GOLD }, known)],
      [entryFor(destination("a", shared.url, { concurrency: 1 }), 1)],
    );
    for (let n = 0; n < 6; n += 1) for (const path of ["one", "all"]) await send(path, { n });
    expect(await until(() => shared.got.length === 12)).toBe(true);
    expect(shared.most).toBe(1);
    expect(new Set(shared.got.map(({ headers }) => headers["davit-route"]))).toEqual(new Set(["shop/one", "shop/all"]));
  });

  test("an id that nobody has waits a minute and is then a dead letter, which is delivered when somebody has it", async () => {
    const late = await receiver();
    const routes = [route("chosen", { destinationSelector: { ...GOLD, idFrom: "json:/to" } }, [])];
    await start(routes, []);
    const [young, old] = [await send("chosen", { to: "late" }), await send("chosen", { to: "late", n: 2 })];
    const stateOf = async (id: string) => (await gateway.ledger.event(id))?.copies[0]?.state;
    expect(await until(async () => (await stateOf(old.id)) === "delayed")).toBe(true);
    await agedBy(old.id, 61_000);
    expect(await until(async () => (await stateOf(old.id)) === "dead")).toBe(true);
    expect((await gateway.ledger.event(old.id))?.copies[0]?.attempts.at(-1)).toMatchObject({
      reason: "NoSuchDestination",
    });
    expect(await stateOf(young.id)).not.toBe("dead");
    worker.update(configured(routes, [entryFor(destination("late", late.url), 9)]));
    await gateway.ledger.replay(old.id);
    expect(await until(() => late.got.length === 2)).toBe(true);
    expect(new Set(late.got.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([young.id, old.id]));
  });

  test("copies of a destination that their route has no more are dead letters, and others go on", async () => {
    const shared = await receiver();
    const known = [{ name: "a", id: "~a", labels: { tier: "gold" } }];
    const named = { destinations: [{ name: "eu", destinationRef: { name: "a" } }] };
    const entry = entryFor(destination("a", shared.url), 1);
    const losing = route("losing", named, known);
    const keeping = route("keeping", named, known);
    await start([losing, keeping], [{ ...entry, suspended: true }]);
    const [young, old] = [await send("losing", { n: 1 }), await send("losing", { n: 2 })];
    await send("keeping", { n: 3 });
    await agedBy(old.id, 61_000);
    const { sharedCopies: _, ...without } = losing;
    worker.update(configured([{ ...without, seq: 6 }, keeping], [{ ...entry, seq: 2 }]));
    const copyOf = async ({ id }: { readonly id: string }) => (await gateway.ledger.event(id))?.copies[0];
    expect(await until(async () => (await copyOf(old))?.state === "dead")).toBe(true);
    expect((await copyOf(old))?.attempts.at(-1)).toMatchObject({ reason: "DestinationRemoved" });
    expect(await until(() => shared.got.length === 1)).toBe(true);
    expect(shared.got[0]?.body).toBe('{"n":3}');
    expect((await copyOf(young))?.state).toBe("delayed");
  });

  test("a suspended route's copies wait on its shelf while others share the destination, and go when it goes on", async () => {
    const shared = await receiver();
    const known = [{ name: "a", id: "~a", labels: { tier: "gold" } }];
    const named = { destinations: [{ name: "eu", destinationRef: { name: "a" } }] };
    const objects = [entryFor(destination("a", shared.url), 1)];
    const resting = route("resting", { ...named, suspend: "Delivery" }, known);
    const routes = [resting, route("going", named, known)];
    await start(routes, objects);
    const stateOf = async (id: string) => (await gateway.ledger.event(id))?.copies[0]?.state;
    const sent: string[] = [];
    for (let n = 0; n < 5; n += 1) sent.push((await send("resting", { n })).id);
    for (let n = 0; n < 5; n += 1) await send("going", { n });
    expect(await until(() => shared.got.length === 5)).toBe(true);
    expect(new Set(shared.got.map(({ headers }) => headers["davit-route"]))).toEqual(new Set(["shop/going"]));
    expect(await Promise.all(sent.map(stateOf))).toEqual(sent.map(() => "shelved"));
    worker.update(configured([{ ...resting, seq: 6, suspend: "None" }, ...routes.slice(1)], objects));
    expect(await until(() => shared.got.length === 10)).toBe(true);
    const attempts = (await gateway.ledger.event(sent[0] ?? ""))?.copies[0]?.attempts;
    expect(attempts?.map(({ attempt }) => attempt)).toEqual([1]);
  });

  test("a suspended destination keeps its copies where they are, at no cost, and is drained when it goes on", async () => {
    const shared = await receiver();
    const routes = [route("chosen", { destinationSelector: { ...GOLD, idFrom: "json:/to" } }, [])];
    const entry = entryFor(destination("a", shared.url), 1);
    await start(routes, [{ ...entry, suspended: true }]);
    const sent: string[] = [];
    for (let n = 0; n < 5; n += 1) sent.push((await send("chosen", { to: "a", n })).id);
    // Its ticket has come by and was put off.
    const busy = "davit:default:{shop}:busy";
    const lookedAt = async () => Number(await redis.client().zscore(busy, "~a")) - Date.now();
    expect(await until(async () => (await lookedAt()) > 30_000)).toBe(true);
    await send("chosen", { to: "a", n: 5 });
    await sleep(1_500);
    expect(await lookedAt()).toBeGreaterThan(30_000);
    expect((await gateway.ledger.event(sent[0] ?? ""))?.copies[0]).toMatchObject({ state: "waiting", attempts: [] });
    worker.update(configured(routes, [{ ...entry, seq: 2 }]));
    expect(await until(() => shared.got.length === 6)).toBe(true);
  });

  test("rate and disabling of a WebhookDestination are what its gate in the store goes by", async () => {
    const shared = await receiver();
    const routes = [route("chosen", { destinationSelector: { ...GOLD, idFrom: "json:/to" } }, [])];
    const spec = {
      rateLimit: { requests: 20, per: "1s", burst: 2 },
      disableAfter: { consecutiveFailures: 3, failingFor: "0s" },
      concurrency: 4,
    };
    await start(routes, [entryFor(destination("a", shared.url, spec), 7)]);
    const began = performance.now();
    for (let n = 0; n < 12; n += 1) await send("chosen", { to: "a", n });
    expect(await until(() => shared.got.length === 12)).toBe(true);
    // However long it took: what the bucket held, and what came into it since.
    expect(12).toBeLessThanOrEqual(2 + (performance.now() - began) / 50);
    const { ledger } = gateway;
    expect(await ledger.gate("~a")).toMatchObject({
      state: "Closed",
      config: {
        seq: 7,
        limit: 4,
        rate: { requests: 20, perMs: 1_000, burst: 2 },
        disableAfter: { consecutiveFailures: 3, failingForMs: 0 },
        circuit: DEFAULT_CIRCUIT,
      },
    });
    shared.status = 500;
    for (let n = 0; n < 12; n += 1) await send("chosen", { to: "a", n: 100 + n });
    expect(await until(async () => (await ledger.gate("~a")).state === "Disabled")).toBe(true);
    const disabled = await ledger.gate("~a");
    expect(disabled.reason).toBe("ConsecutiveFailures");
    // Those that were on their way at the third failure count too.
    expect(disabled.consecutiveFailures).toBeGreaterThanOrEqual(3);
    expect(disabled.consecutiveFailures).toBeLessThanOrEqual(3 + 3);
    await sleep(500);
    const sent = shared.got.length;
    await sleep(500);
    expect(shared.got.length).toBe(sent);
    expect(sent).toBeLessThan(24);
    shared.status = 200;
    await ledger.enable("~a");
    // What failed waits for its own next attempt; what was never sent goes at once.
    expect(await until(() => new Set(shared.got.map(({ body }) => body)).size === 24)).toBe(true);
  });

  /** Makes an event's receipt lie further back: nobody waits a minute for a test. */
  async function agedBy(id: string, ms: number): Promise<void> {
    const key = `davit:default:{shop}:e:${id}`;
    const meta = (await redis.client().hget(key, "m")) ?? "";
    const [head = "", ...others] = meta.split("\n");
    const parts = head.split(" ");
    parts[4] = String(Number(parts[4]) - ms);
    await redis.client().hset(key, "m", [parts.join(" "), ...others].join("\n"));
  }
});
