import { type ChildProcess, fork } from "node:child_process";
import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newEvent } from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { createHttpAttempt } from "../../src/delivery/http-attempt.ts";
import { NamespaceWorker } from "../../src/delivery/namespace-worker.ts";
import { workerDestinations } from "../../src/delivery/worker-destinations.ts";
import type { HttpSender } from "../../src/egress/http-sender.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import { compileDestination } from "../../src/routes/compile-destination.ts";
import type { DestinationEntry } from "../../src/routes/entry.ts";
import { entryOf, secretsOf } from "../../src/routes/testing.ts";
import { loopbackSender } from "../support/loopback-sender.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const SCOPE = { instance: "default", namespace: "shop" };
const KEY = Buffer.from("a signing key of a test");
const SECRETS = secretsOf({ acme: { signing: `whsec_${KEY.toString("base64")}` } }, { "davit.dev/use": "true" });

interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers with `status`, after `onRequest`. */
interface Receiver {
  readonly url: string;
  readonly got: Request[];
  status: number;
  onRequest: () => void | Promise<void>;
}

describe("notices about a destination", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let sender: HttpSender;
  let worker: NamespaceWorker | undefined;
  let metrics: Metrics;
  const servers: Server[] = [];
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    store = new RedisStore({ url: redis.url });
    await store.start();
    sender = loopbackSender();
    worker = undefined;
    metrics = createMetrics();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await worker?.stop();
    await sender.close();
    store.close();
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await redis.stop();
  });

  async function receiver(status: number): Promise<Receiver> {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (data: Buffer) => (body += data.toString()));
      request.on("end", () => {
        made.got.push({ headers: request.headers, body });
        void Promise.resolve(made.onRequest()).then(() => {
          response.statusCode = made.status;
          return response.end("secret words of a receiver");
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    servers.push(server);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const made: Receiver = { url, got: [], status, onRequest: () => undefined };
    return made;
  }

  /** A destination that is disabled after 12 failures and a second, as its manifest says. */
  function destination(url: string, notifyUrl: string): DestinationEntry {
    const result = compileDestination({
      destination: {
        apiVersion: "davit.dev/v1alpha1",
        kind: "WebhookDestination",
        metadata: { name: "acme-eu", namespace: "shop" },
        spec: {
          id: "Acme/EU",
          url,
          allowInsecureHTTP: true,
          concurrency: 1,
          signing: { scheme: "StandardWebhooks", secretRef: { name: "acme", key: "signing" } },
          notify: { url: "https://example.com/", email: "ops@example.com" },
        },
      },
      namespace: "shop",
      secrets: SECRETS,
      now: Date.now(),
      releaseKey: Buffer.from("k"),
    });
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    expect(result.entry.notify).toEqual({ url: "https://example.com/", email: "ops@example.com" });
    // To this machine, where nobody has a certificate.
    const notify = { ...result.entry.notify, url: notifyUrl };
    return { ...result.entry, seq: 1, disableAfter: { consecutiveFailures: 12, failingForMs: 1_000 }, notify };
  }

  async function start(entry: DestinationEntry): Promise<void> {
    const route = { ...entryOf(), destinationIdFrom: "json:/to", destinations: [] };
    worker = new NamespaceWorker({
      store,
      scope: SCOPE,
      attempt: createHttpAttempt(sender),
      noticeSender: sender,
      destinations: workerDestinations([route], { destinations: [entry], isLive: () => true }),
      logger: silentLogger,
      metrics,
    });
    await worker.start();
    // The first look of the notifier: it is told of what comes after it.
    expect(await until(async () => (await registered()) !== null)).toBe(true);
  }

  const registered = () => redis.client().hget("davit:default:{shop}:notice-readers", "webhook");

  async function events(count: number): Promise<void> {
    const { route } = entryOf();
    const policy = { ...newEvent().policy, route };
    for (let i = 0; i < count; i++) {
      await store.inbox(SCOPE).claim(newEvent({ policy, destinations: [{ destination: "~Acme%2FEU", limit: 1 }] }));
    }
  }

  const until = async (met: () => boolean | Promise<boolean>, ms = 20_000): Promise<boolean> => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (await met()) return true;
    return false;
  };
  const types = ({ got }: Receiver) => got.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  const gate = () => store.ledger(SCOPE).gate("~Acme%2FEU");

  test("reach its owner by signed webhooks in their order, each once, also one that is refused at first", async () => {
    const [customer, owner] = [await receiver(400), await receiver(500)];
    await start(destination(customer.url, owner.url));
    await events(5);
    expect(await until(() => owner.got.length === 1)).toBe(true);
    owner.status = 204;
    await sleep(500);
    await events(1);
    await sleep(600);
    await events(6);
    expect(await until(async () => (await gate()).state === "Disabled")).toBe(true);
    await events(2);
    await store.ledger(SCOPE).enable("~Acme%2FEU");
    expect(await until(() => owner.got.length === 5)).toBe(true);
    expect(types(owner)).toEqual([
      "davit.destination.failing",
      "davit.destination.failing",
      "davit.destination.half-way",
      "davit.destination.disabled",
      "davit.destination.recovered",
    ]);
    const ids = owner.got.map(({ headers }) => headers["webhook-id"]);
    const failing = owner.got.filter(({ body }) => body.includes("destination.failing"));
    expect(new Set(failing.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(new Set(ids).size).toBe(4);
    await sleep(3_000);
    expect(owner.got).toHaveLength(5);
  });

  test("carry reason, last status, what waits and the command that enables it, and no payload", async () => {
    const [customer, owner] = [await receiver(410), await receiver(200)];
    await start(destination(customer.url, owner.url));
    await events(3);
    expect(await until(() => owner.got.length === 1)).toBe(true);
    const [{ headers, body } = { headers: {}, body: "" }] = owner.got;
    const told = JSON.parse(body) as { readonly id: string; readonly created: string; readonly data: object };
    expect(told.id).toBe(headers["webhook-id"]);
    expect(told.data).toMatchObject({
      namespace: "shop",
      destination: "Acme/EU",
      name: "acme-eu",
      reason: "Gone",
      lastStatus: 410,
      enable: "davit destinations enable 'Acme/EU' -n shop",
      message: expect.stringContaining("shop/acme-eu is disabled: it answered 410") as string,
    });
    expect(body).not.toContain("secret words");
    const content = `${told.id}.${String(headers["webhook-timestamp"])}.${body}`;
    const signature = createHmac("sha256", KEY).update(content).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers).not.toHaveProperty("davit-route");
    const labels = { namespace: "shop", kind: "Disabled", channel: "webhook", result: "told" };
    const { values } = await metrics.destinationNotices.get();
    expect(values).toContainEqual(expect.objectContaining({ labels, value: 1 }));
  });

  test("are never sent unsigned: they wait for a key", async () => {
    const [customer, owner] = [await receiver(410), await receiver(200)];
    const { signing, ...unsigned } = destination(customer.url, owner.url);
    if (signing === undefined) throw new Error("no signing");
    await start(unsigned);
    await events(1);
    expect(await until(async () => (await tries()) > 0)).toBe(true);
    expect(owner.got).toHaveLength(0);
    const route = { ...entryOf(), destinationIdFrom: "json:/to", destinations: [] };
    worker?.update(workerDestinations([route], { destinations: [{ ...unsigned, signing }], isLive: () => true }));
    expect(await until(() => owner.got.length === 1)).toBe(true);
    expect(owner.got[0]?.headers).toHaveProperty("webhook-signature");
  });

  const tries = async () => Object.keys(await redis.client().hgetall("davit:default:{shop}:notice-tries")).length;

  test("are told again under the same id when the one who told them was killed before the store knew", async () => {
    const owner = await receiver(200);
    const entry = destination("http://127.0.0.1:9/", owner.url);
    const notifier = () => {
      const script = new URL("../support/notifier-process.ts", import.meta.url);
      const child = fork(script, [redis.url, JSON.stringify(entry), "1000"], { execArgv: [] });
      children.push(child);
      return child;
    };
    const first = notifier();
    owner.onRequest = async () => {
      if (owner.got.length > 1) return;
      first.kill("SIGKILL");
      await new Promise((resolve) => first.once("exit", resolve));
    };
    expect(await until(async () => (await registered()) !== null)).toBe(true);
    await goneAtOnce();
    expect(await until(() => owner.got.length === 1)).toBe(true);
    notifier();
    expect(await until(() => owner.got.length === 2)).toBe(true);
    expect(owner.got[0]?.headers["webhook-id"]).toBe(owner.got[1]?.headers["webhook-id"]);
    await sleep(1_500);
    expect(owner.got).toHaveLength(2);
  });

  /** A notice without a worker. */
  async function goneAtOnce(): Promise<void> {
    await events(1);
    const destinationId = "~Acme%2FEU";
    const { policy } = newEvent();
    const policies = new Map([
      [
        destinationId,
        {
          destination: destinationId,
          policy,
          limit: 1,
          timeoutMs: 1_000,
          maxAgeMs: 60_000,
          gate: { seq: 1 },
        },
      ],
    ]);
    const outbox = store.outbox(SCOPE, { policies: () => [] });
    const takes = [{ destination: destinationId, want: 1 }];
    const [copy] = (await outbox.turn({ settles: [], takes, policies })).copies;
    if (copy === undefined) throw new Error("no copy");
    const { eventId, fence, attempt, now: at } = copy;
    const record = { attempt, at, action: "dead", status: 410 } as const;
    const settle = {
      destination: destinationId,
      eventId,
      fence,
      outcome: "dead",
      record,
      gate: { type: "gone", generation: 0 },
    } as const;
    await outbox.turn({ settles: [settle], takes: [], policies });
  }
});
