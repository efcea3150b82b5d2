import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { NewEvent } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { aclRules } from "../../src/custody/redis/user-rules.ts";
import { monotonicUlids } from "../../src/lib/ulid.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { createWorker } from "../../src/sdk/index.ts";
import { davit } from "../support/dev-process.ts";
import { Receiver } from "../support/roles/receiver.ts";
import { type Release, startRelease, TENANT } from "../support/roles/release.ts";
import { openRoute } from "../support/roles/routes.ts";

const SCOPE = { instance: "default", namespace: TENANT };
const nextId = monotonicUlids();

describe("davit worker", () => {
  let release: Release;
  let store: RedisStore;
  let receiver: Receiver;
  beforeEach(async () => {
    release = await startRelease();
    store = new RedisStore({ url: release.redis.url });
    await store.start();
    receiver = await new Receiver().start();
  });
  afterEach(async () => {
    receiver.stop();
    store.close();
    await release.stop();
  });

  /** A route that delivers to a path of the receiver. */
  const route = (name: string, seq: number, path = `/${name}`, changes: Partial<RouteEntry> = {}) =>
    openRoute(name, seq, receiver.url + path, changes);
  const dedicated = (name: string, seq: number, path?: string, changes: Partial<RouteEntry> = {}) =>
    route(name, seq, path, { worker: { dedicated: true, concurrency: 50 }, ...changes });

  /** Takes an event into custody, as a gateway does. @returns its id */
  const accept = async (entry: RouteEntry, body = "{}"): Promise<string> => {
    const event: NewEvent = {
      id: nextId(Date.now()),
      policy: { route: entry.route, windowMs: 60_000, earlierWindows: [], retention: entry.retention },
      mark: undefined,
      headers: {},
      body: Buffer.from(body),
      seq: entry.seq,
      destinations: entry.destinations.map(({ id, concurrency }) => ({ destination: id, limit: concurrency })),
    };
    return (await store.inbox(SCOPE).claim(event)).id;
  };
  const stateOf = async (id: string) => (await store.ledger(SCOPE).event(id))?.copies[0]?.state;

  test("begins with the config that is mounted, without an API server", async () => {
    release.api.freeze();
    const orders = route("orders", 1);
    const worker = await release.worker({ mounted: [orders] }).ready();
    const id = await accept(orders);
    await worker.waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(receiver.received).toEqual([{ path: "/orders", id }]);
    expect(await worker.end()).toBe(0);
  });

  test("is not ready without a config, says why, and begins as soon as there is one", async () => {
    const worker = await release.worker().listening();
    const { status, text } = await worker.readyz();
    expect(status).toBe(503);
    expect(text).toContain("no config is known");
    expect(text).toContain("davit-default-shared-0 … in namespace shop");
    await release.configure([route("orders", 1)]);
    await worker.ready();
  });

  test("takes a change of its config over without a restart, also for what is queued", async () => {
    const before = route("orders", 1, "/before", { suspend: "Delivery" });
    await release.configure([before]);
    const worker = await release.worker({ mounted: [before] }).ready();
    const id = await accept(before);
    await release.configure([route("orders", 2, "/after")]);
    await worker.waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(receiver.paths).toEqual(["/after"]);
    expect(await worker.metric("davit_served_seq")).toBe(2);
  });

  test("goes on with what it has while its config is broken or too new, and says so", async () => {
    const orders = route("orders", 1);
    await release.configure([orders]);
    const worker = await release.worker().ready();
    await release.configure([route("orders", 2, "/too-new")], { spoil: { minReader: 9 } });
    await worker.waitFor("the rejection", () => worker.lines("upgrade the workers").length === 1);
    expect((await worker.readyz()).status).toBe(200);
    expect(await worker.metric('davit_rejected_publications{code="TooNew"}')).toBe(1);
    const id = await accept(orders);
    await worker.waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(receiver.paths).toEqual(["/orders"]);
    await release.configure([route("orders", 3, "/newest")]);
    await worker.waitFor("the newest config", async () => (await worker.metric("davit_served_seq")) === 3);
    expect(await worker.metric('davit_rejected_publications{code="TooNew"}')).toBe(0);
  });

  test("reads a config of many parts, and only those that are in use", async () => {
    const padding = { parameters: { padding: "x".repeat(8_000) } };
    const routes = Array.from({ length: 80 }, (_, n) => route(`route-${n}`, n + 1, `/route-${n}`, padding));
    await release.configure([route("orders", 1)]);
    const worker = await release.worker().ready();
    const asked = () => release.api.requests.filter(({ verb }) => verb === "list" || verb === "watch");
    await worker.waitFor("the watch", () => asked().some(({ verb }) => verb === "watch"));
    expect(asked().map(({ verb, plural, namespace }) => `${verb} ${plural} ${namespace}`)).toEqual([
      "list secrets shop",
      "watch secrets shop",
    ]);
    await release.configure(routes);
    await worker.waitFor("all parts", async () => (await worker.metric("davit_served_seq")) === 80);
    const ids = await Promise.all(routes.map((entry) => accept(entry)));
    await worker.waitFor("all deliveries", async () => {
      const states = await Promise.all(ids.map(stateOf));
      return states.every((state) => state === "delivered");
    });
    expect(new Set(receiver.paths)).toEqual(new Set(routes.map(({ name }) => `/${name}`)));
  });

  test("does with the rights of a worker's own Redis user, and says which it lacks", async () => {
    const admin = release.redis.client();
    const setUser = (rules: readonly string[]) => admin.call("ACL", "SETUSER", "own", "reset", "on", ">own", ...rules);
    const rules = aclRules({ role: "worker", ...SCOPE });
    await setUser([...rules, "-evalsha"]);
    const orders = route("orders", 1);
    const redisUrl = release.redis.url.replace("://", "://own:own@");
    const worker = await release.worker({ mounted: [orders], redisUrl }).listening();
    await worker.waitFor("the missing right", async () => (await worker.readyz()).text.includes("evalsha"));
    await setUser(rules);
    await worker.ready();
    const id = await accept(orders);
    await worker.waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(receiver.paths).toEqual(["/orders"]);
  });

  test("goes on with the new password of its Redis user once its connections break, without a restart", async () => {
    const admin = release.redis.client();
    const setPassword = (password: string) =>
      admin.call("ACL", "SETUSER", "own", "reset", "on", `>${password}`, ...aclRules({ role: "worker", ...SCOPE }));
    const urlWith = (password: string) => release.redis.url.replace("://", `://own:${password}@`);
    await setPassword("first");
    const orders = route("orders", 1);
    const worker = await release.worker({ mounted: [orders], redisUrl: urlWith("first") }).ready();
    await setPassword("second");
    await admin.call("CLIENT", "KILL", "USER", "own");
    await worker.waitFor("the refusal", async () => (await worker.readyz()).status === 503);
    const id = await accept(orders);
    release.file("redis-0", urlWith("second"));
    await worker.ready();
    await worker.waitFor("the delivery", async () => (await stateOf(id)) === "delivered");
    expect(receiver.paths).toEqual(["/orders"]);
    expect(await worker.end()).toBe(0);
  });

  test("leaves a route with workers of its own to those", async () => {
    const [orders, refunds] = [route("orders", 1), dedicated("refunds", 2)];
    await release.configure([orders]);
    await release.configure([refunds], { route: "refunds" });
    const shared = await release.worker().ready();
    const ids = [await accept(refunds), await accept(orders)];
    await shared.waitFor("the shared route's delivery", async () => (await stateOf(ids[1] ?? "")) === "delivered");
    expect(await stateOf(ids[0] ?? "")).toBe("waiting");
    const own = await release.worker({ route: "refunds" }).ready();
    await own.waitFor("the own delivery", async () => (await stateOf(ids[0] ?? "")) === "delivered");
    expect(receiver.paths).toEqual(["/orders", "/refunds"]);
    expect(await shared.end()).toBe(0);
    const late = await accept(refunds);
    await own.waitFor("a delivery by the own workers alone", async () => (await stateOf(late)) === "delivered");
  });

  test("is not ready as the workers of a route that its config lacks, and takes nobody else's events", async () => {
    const orders = route("orders", 1);
    const worker = await release.worker({ route: "refunds", mounted: [orders] }).listening();
    await worker.waitFor("the cause", async () => (await worker.readyz()).text.includes("lacks the route"));
    const id = await accept(orders);
    await release.configure([dedicated("refunds", 2)], { route: "refunds" });
    await worker.ready();
    expect(await stateOf(id)).toBe("waiting");
  });

  test("on SIGTERM finishes and settles what is under way, and takes nothing more", async () => {
    const orders = route("orders", 1, "/orders");
    let answer = (): void => undefined;
    receiver.hold = new Promise<void>((resolve) => (answer = resolve));
    const worker = await release.worker({ mounted: [orders] }).ready();
    const first = await accept(orders);
    await worker.waitFor("the request", () => receiver.received.length === 1);
    const ended = worker.end();
    await worker.waitFor("it to stop", async () => (await worker.readyz()).text.includes("stopping"));
    const second = await accept(orders);
    answer();
    expect(await ended).toBe(0);
    expect(await stateOf(first)).toBe("delivered");
    expect(await stateOf(second)).toBe("waiting");
    expect(receiver.received).toHaveLength(1);
  });

  describe("the example of a worker image", () => {
    const HANDLER = new URL("../../examples/worker-image/handler.js", import.meta.url).pathname;
    const handled = (name: string, seq: number): RouteEntry => {
      const entry = dedicated(name, seq);
      const [destination] = entry.destinations;
      if (destination === undefined) throw new Error("the route has no destination");
      return { ...entry, destinations: [{ ...destination, target: { type: "handler" } }] };
    };

    test("attaches to its route, handles its events by the route's retries, serves probes, and ends in order", async () => {
      const orders = handled("orders", 1);
      const worker = await release.worker({ route: "orders", program: HANDLER, mounted: [orders] }).ready();
      const good = await accept(orders, '{"number":7,"total":12.5}');
      const bad = await accept(orders, '{"number":8}');
      const odd = await accept(orders, "no JSON");
      await worker.waitFor("the outcomes", async () => {
        const states = await Promise.all([good, bad, odd].map(stateOf));
        return states.join() === "delivered,dead,delayed" || states.join() === "delivered,dead,waiting";
      });
      expect(worker.output).toContain(`order 7: 12.5, event ${good}, attempt 1`);
      expect(
        await worker.metric('davit_dead_letters_total{namespace="shop",route="orders",reason="Unrecoverable"}'),
      ).toBe(1);
      expect(await worker.end()).toBe(0);
    });

    test("is what createWorker does only where DAVIT_CONFIG is set and no queue is named", async () => {
      vi.stubEnv("DAVIT_CONFIG", "/no/such/file");
      const attached = createWorker(() => undefined, { logger: silentLogger });
      await expect(attached.start()).rejects.toMatchObject({ code: "Config" });
      await attached.close().catch(() => undefined);
      const options = { queueName: "own", redisUrl: release.redis.url, logger: silentLogger };
      const queued = createWorker(() => undefined, options);
      await queued.start();
      await queued.close();
      vi.stubEnv("DAVIT_CONFIG", "");
      const plain = createWorker(() => undefined, { redisUrl: release.redis.url, logger: silentLogger });
      await plain.start();
      await plain.close();
      vi.unstubAllEnvs();
    });

    test("has a manifest that is valid", async () => {
      const { code, stdout } = await davit("validate", "-f", "examples/worker-image/route.yaml");
      expect(stdout).toBe("1 route(s) valid\n");
      expect(code).toBe(0);
    });
  });
});
