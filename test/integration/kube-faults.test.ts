import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { KubeAuth } from "../../src/kube/auth.ts";
import { KubeClient } from "../../src/kube/client.ts";
import {
  clientOf,
  configMap,
  CONFORMANCE_TYPES,
  eventually,
  reflecting,
  testMetrics,
} from "../../src/kube/conformance/fixtures.ts";
import { CONFIG_MAPS, LEASES } from "../../src/kube/core-types.ts";
import { LeaderElector } from "../../src/kube/leader-elector.ts";
import { OptionalReflector } from "../../src/kube/optional-reflector.ts";
import { Reflector } from "../../src/kube/reflector.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { ManualTimers } from "../../src/lib/testing.ts";
import { sleep } from "../../src/lib/timers.ts";
import { startFakeApiServer, type FakeApiServer } from "../support/fake-api-server/server.ts";

// What a real API server cannot be made to do at will.
let fake: FakeApiServer;
let namespace: string;
let client: KubeClient;
beforeEach(async () => {
  fake = await startFakeApiServer(CONFORMANCE_TYPES);
  namespace = fake.addNamespace("test");
  client = clientOf(fake.auth());
});
afterEach(() => fake.stop());
const maps = () => client.resource(CONFIG_MAPS);
const watch = (options: object = {}) => reflecting(fake.auth(), { type: CONFIG_MAPS, namespace, ...options });
const create = (name: string) => maps().create(configMap(namespace, name));
const count = (verb: string) => fake.requests.filter((asked) => asked.verb === verb).length;
const watching = () => eventually(() => expect(fake.watches.count).toBe(1));

describe("a call", () => {
  test("that is refused says how long to wait, and nothing of the body that is no Status", async () => {
    fake.faults.plan({ answer: 503, retryAfterSeconds: 7, text: `<html>${"secret ".repeat(1_000)}` });
    const failure = await maps()
      .list(namespace)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "Unavailable", status: 503, retryAfterMs: 7_000 });
    expect(String(failure)).not.toContain("secret ");
  });

  test.each([
    ["gets no answer", { silent: true }],
    ["gets an answer without end", { trickle: true }],
  ] as const)(
    "that %s ends after its time, and the next one is not held up",
    async (_what, fault) => {
      fake.faults.plan(fault);
      await expect(maps().list(namespace, { timeoutMs: 100 })).rejects.toMatchObject({ code: "Timeout" });
      expect((await maps().list(namespace)).items).toEqual([]);
    },
    10_000,
  );

  test("whose connection breaks is Unreachable; whether it was carried out shows the next look", async () => {
    fake.faults.plan({ cut: "after" }, ({ verb }) => verb === "create");
    await expect(create("a")).rejects.toMatchObject({ code: "Unreachable" });
    await expect(create("a")).rejects.toMatchObject({ code: "AlreadyExists" });
  });

  test("is not held up by any number of open watches", async () => {
    const stop = new AbortController();
    const { transport } = client;
    const reflectors = Array.from(
      { length: 40 },
      () => new Reflector({ transport, type: CONFIG_MAPS, metrics: testMetrics() }),
    );
    const ended = reflectors.map((reflector) => reflector.run(stop.signal));
    await eventually(() => expect(fake.watches.count).toBe(40));
    const object = configMap(namespace, "a");
    expect(await maps().create(object, { timeoutMs: 2_000 })).toMatchObject({ metadata: { name: "a" } });
    stop.abort();
    await Promise.all(ended);
  });

  test("of the same process goes over connections that are kept", async () => {
    for (let i = 0; i < 20; i++) await maps().list(namespace);
    expect(fake.connections).toBeLessThanOrEqual(2);
  });

  test("that writes waits for its budget when there is one", async () => {
    const writeLimit = { perSecond: 20, burst: 2 };
    const transport = new KubeTransport({ auth: fake.auth(), metrics: testMetrics(), writeLimit });
    const limited = new KubeClient(transport).resource(CONFIG_MAPS);
    const began = performance.now();
    for (const name of ["a", "b", "c", "d"]) await limited.create(configMap(namespace, name));
    expect(performance.now() - began).toBeGreaterThanOrEqual(90);
    await transport.close();
  });

  test("that renews a Lease does not wait for that budget", async () => {
    const writeLimit = { perSecond: 0.001, burst: 1 };
    const transport = new KubeTransport({ auth: fake.auth(), metrics: testMetrics(), writeLimit });
    const limited = new KubeClient(transport);
    await limited.resource(CONFIG_MAPS).create(configMap(namespace, "a"));
    const waiting = limited.resource(CONFIG_MAPS).create(configMap(namespace, "b"), { timeoutMs: 500 });
    const lease = await limited.resource(LEASES).create({ metadata: { namespace, name: "l" }, spec: {} });
    await limited.resource(LEASES).update(lease);
    await expect(waiting).rejects.toMatchObject({ code: "Timeout" });
    await transport.close();
  });

  test("is counted by method and status, and as <error> without one", async () => {
    const metrics = testMetrics();
    const counted = clientOf(fake.auth(), metrics).resource(CONFIG_MAPS);
    await counted.list(namespace);
    await counted.find({ namespace, name: "none" });
    fake.faults.plan({ cut: "before" });
    await counted.list(namespace).catch(() => undefined);
    const { values } = await metrics.restClientRequests.get();
    expect(values.map(({ labels, value }) => [labels.method, labels.code, value])).toEqual([
      ["GET", "200", 1],
      ["GET", "404", 1],
      ["GET", "<error>", 1],
    ]);
  });

  test("by a leader that was in flight when its lease ended is refused, as what it read is no longer there", async () => {
    const read = await create("state");
    const seen = await maps().apply({ metadata: { namespace, name: "child" }, data: { by: "old" } }, byForce);
    const { uid, resourceVersion } = seen.metadata;
    fake.faults.plan({ delayMs: 150 }, ({ verb }) => verb === "update" || verb === "patch", 2);
    const late = [
      maps().update({ ...read, data: { by: "old" } }),
      maps().apply(
        { metadata: { namespace, name: "child" }, data: { by: "old again" } },
        { ...byForce, uid, resourceVersion },
      ),
    ];
    const outcomes = Promise.allSettled(late);
    await eventually(() => expect(count("update") + count("patch")).toBe(3));
    await maps().mergePatch({ namespace, name: "state" }, { data: { by: "new" } }, {});
    await maps().apply({ metadata: { namespace, name: "child" }, data: { by: "new" } }, byForce);
    expect(await outcomes).toMatchObject([{ reason: { code: "Conflict" } }, { reason: { code: "Conflict" } }]);
    const { items } = await maps().list(namespace);
    expect(items.map(({ data }) => data)).toEqual([{ by: "new" }, { by: "new" }]);
  });
});

const byForce = { fieldManager: "leader", force: true };

describe("a list", () => {
  test("that is half read when the server forgets its version is begun anew", async () => {
    for (const name of ["a", "b", "c"]) await create(name);
    fake.faults.plan({ answer: 410, reason: "Expired" }, ({ verb }) => verb === "list" && count("list") === 2);
    const { reflector } = watch({ pageSize: 2 });
    await reflector.synced;
    expect(reflector.store.size).toBe(3);
    expect(count("list")).toBe(4);
  });

  test("that the server has no time for is asked again, not before the server said", async () => {
    fake.faults.plan({ answer: 429, retryAfterSeconds: 1 }, ({ verb }) => verb === "list");
    const began = performance.now();
    const { reflector } = watch();
    await reflector.synced;
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(count("list")).toBe(2);
  });
});

describe("a watch", () => {
  test.each(["status", "event"] as const)("from a forgotten version, told by %s, leads to a new list", async (how) => {
    fake.goneAs = how;
    await create("a");
    await create("b");
    const { reflector, said } = watch();
    await reflector.synced;
    await watching();
    fake.watches.silence();
    await maps().delete({ namespace, name: "a" });
    fake.compact();
    fake.watches.cut();
    await eventually(() => expect(said).toEqual(["+a", "+b", "-a"]));
    expect(count("list")).toBe(2);
  });

  test("goes on from the newest bookmark, without a list", async () => {
    const { reflector } = watch();
    await reflector.synced;
    await watching();
    fake.bookmark();
    const version = String(fake.store.version);
    await eventually(() => {
      fake.watches.end();
      expect(fake.watchedFrom).toContain(version);
    });
    expect(count("list")).toBe(1);
  });

  test("that is silent is opened again from the last version, without a list and without a failure", async () => {
    const errors: unknown[] = [];
    const { reflector, said } = watch({ idleMs: 100, onError: (error: unknown) => errors.push(error) });
    await reflector.synced;
    await watching();
    fake.watches.silence();
    await create("a");
    await eventually(() => expect(said).toEqual(["+a"]));
    expect([count("list"), errors]).toEqual([1, []]);
  });

  test("that is half-open is given up for a list when somebody has to know what is there now", async () => {
    const { reflector, said } = watch();
    await reflector.synced;
    await watching();
    fake.watches.silence();
    await create("a");
    fake.faults.plan({ answer: 503 }, ({ verb }) => verb === "list", 2);
    expect(await reflector.relist()).toBeUndefined();
    expect([said, count("list")]).toEqual([["+a"], 4]);
    await watching();
    await create("b");
    await eventually(() => expect(said).toEqual(["+a", "+b"]));
  });

  test("a list under way when somebody asks for a newer one does not count", async () => {
    fake.faults.plan({ delayMs: 300 }, ({ verb }) => verb === "list");
    const { reflector } = watch();
    await eventually(() => expect(count("list")).toBe(1));
    await reflector.relist();
    expect(count("list")).toBe(2);
  });

  test("asking for a new list tells of a refusal instead of waiting for its end, and ends with the run", async () => {
    const { reflector, stop } = watch({ refusedDelayMs: 60_000 });
    await reflector.synced;
    const allow = fake.forbid(() => true);
    expect(await reflector.relist()).toBe("Forbidden");
    allow();
    expect(await reflector.relist()).toBeUndefined();
    fake.faults.plan({ silent: true }, ({ verb }) => verb === "list");
    const asked = reflector.relist();
    stop.abort();
    expect(await asked).toBeUndefined();
  });

  test("that is silent twice in a row is doubted: a restored server is noticed, and what it has replaces what was known", async () => {
    const restored: number[] = [];
    const { reflector } = watch({ idleMs: 100, onRestored: () => restored.push(count("list")) });
    const [first, again] = [await create("a"), await create("b")];
    await eventually(() => expect(reflector.store.size).toBe(2));
    await watching();
    fake.watches.silence();
    await maps().delete({ namespace, name: "b" });
    await maps().mergePatch({ namespace, name: "a" }, { data: { by: "the backup" } }, {});
    // The same version once more, for something else.
    fake.store.get({ ...CONFIG_MAPS, namespace, name: "a", isStatus: false }).metadata.resourceVersion =
      first.metadata.resourceVersion;
    fake.store.version = Number(again.metadata.resourceVersion) - 1;
    fake.store.history.length = 0;
    await eventually(() => expect(reflector.store.get(`${namespace}/a`)?.data).toEqual({ by: "the backup" }));
    expect(reflector.store.size).toBe(1);
    expect(restored).toHaveLength(1);
  });

  test("that the server ends at once is not asked for again and again", async () => {
    fake.faults.plan({ answer: 200, text: "" }, ({ verb }) => verb === "watch", Number.POSITIVE_INFINITY);
    const { reflector } = watch({ minDelayMs: 100 });
    await reflector.synced;
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(count("watch")).toBeLessThan(8);
    expect(count("watch")).toBeGreaterThan(1);
  });

  test("with a line that is no JSON goes on from the last version and loses nothing", async () => {
    const errors: unknown[] = [];
    const { reflector, said } = watch({ onError: (error: unknown) => errors.push(error) });
    await reflector.synced;
    await watching();
    fake.watches.send('{"type":"ADDED","obj');
    await create("a");
    await eventually(() => expect(said).toEqual(["+a"]));
    expect(errors).toMatchObject([{ code: "BrokenAnswer" }]);
    expect(count("list")).toBe(1);
  });

  test("survives credentials that cannot be read for a while", async () => {
    let failures = 3;
    const good = fake.auth();
    const auth: KubeAuth = {
      ...good,
      credentials: () => (failures-- > 0 ? Promise.reject(new Error("unreadable")) : good.credentials()),
    };
    const errors: unknown[] = [];
    const { reflector } = reflecting(auth, { type: CONFIG_MAPS, onError: (error: unknown) => errors.push(error) });
    await reflector.synced;
    expect(errors).toHaveLength(3);
  });

  test("goes on with the new token when the old one is no longer accepted", async () => {
    let token = fake.token;
    const auth: KubeAuth = {
      server: fake.url,
      credentials: () => Promise.resolve({ headers: { authorization: `Bearer ${token}` }, tls: {} }),
      refresh: () => {
        token = fake.token;
      },
    };
    const errors: unknown[] = [];
    const { reflector, said } = reflecting(auth, {
      type: CONFIG_MAPS,
      namespace,
      onError: (error: unknown) => errors.push(error),
    });
    await reflector.synced;
    await watching();
    fake.token = "second";
    fake.watches.end();
    await clientOf(fake.auth()).resource(CONFIG_MAPS).create(configMap(namespace, "a"));
    await eventually(() => expect(said).toEqual(["+a"]));
    expect(errors).toEqual([]);
  });

  test("that is forbidden though the list was not is a refusal until it is allowed", async () => {
    const refusals: unknown[] = [];
    const allow = fake.forbid(({ verb }) => verb === "watch");
    watch({ refusedDelayMs: 20, onRefusal: (refusal: unknown) => refusals.push(refusal) });
    await eventually(() => expect(refusals).toEqual(["Forbidden"]));
    allow();
    await eventually(() => expect(refusals).toEqual(["Forbidden", undefined]));
    expect(count("list")).toBe(1);
  });

  test("whose handler throws goes on, with the other handlers told; the failure is counted", async () => {
    const errors: unknown[] = [];
    const { reflector, said } = watch({ onError: (error: unknown) => errors.push(error) });
    reflector.onChange(() => {
      throw new Error("a handler's mistake");
    });
    const later: string[] = [];
    reflector.onChange(({ key }) => later.push(key));
    await reflector.synced;
    await create("a");
    await eventually(() => expect(later).toEqual(["test/a"]));
    expect(said).toEqual(["+a"]);
    expect(errors).toMatchObject([{ message: "a handler's mistake" }]);
  });

  test("may not run twice over one store", async () => {
    const { reflector, stop } = watch();
    await reflector.synced;
    await expect(reflector.run(stop.signal)).rejects.toThrow("already runs");
  });
});

describe("a leader", () => {
  const lead = (timers: ManualTimers, work = (signal: AbortSignal) => sleep(timers, Infinity, signal)) => {
    const options = { client, namespace, name: "leader", identity: "me", metrics: testMetrics(), timers };
    const elector = new LeaderElector(options);
    const stop = new AbortController();
    const ended = elector.run(stop.signal, work).then(
      () => "ended",
      (error: unknown) => error,
    );
    onTestFinished(() => {
      stop.abort();
    });
    return { elector, ended, stop };
  };

  test("that was stopped knows it at the first look, before any timer of its own has fired", async () => {
    const timers = new ManualTimers();
    const { elector, ended } = lead(timers);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    timers.stall(9_999);
    expect(elector.isLeader()).toBe(true);
    timers.wallOffset -= 3_600_000; // set back meanwhile: it does not help
    timers.stall(1);
    expect(elector.isLeader()).toBe(false);
    await expect(
      client.fencedBy(elector).resource(CONFIG_MAPS).create(configMap(namespace, "late")),
    ).rejects.toMatchObject({ code: "NotLeader" });
    await timers.advance(0);
    expect(await ended).toMatchObject({ code: "LeadershipLost" });
    expect(elector.signal.aborted).toBe(true);
  });

  test("whose lease somebody else has taken knows it at its next renewal", async () => {
    const timers = new ManualTimers();
    const { elector, ended } = lead(timers);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    await client.resource(LEASES).mergePatch({ namespace, name: "leader" }, { spec: { holderIdentity: "thief" } }, {});
    await timers.advance(2_000);
    expect(await ended).toMatchObject({ code: "LeadershipLost" });
    expect(timers.monotonic()).toBe(2_000);
  }, 10_000);

  test("on a machine that was suspended, whose monotonic clock stood still, knows it by the wall clock", async () => {
    const timers = new ManualTimers();
    const { elector } = lead(timers);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    timers.wallOffset += 10_000;
    expect(elector.isLeader()).toBe(false);
  });

  test("counts from when a renewal was asked for, not from when it was answered", async () => {
    const timers = new ManualTimers();
    const { elector } = lead(timers);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    fake.faults.plan({ delayMs: 50 }, ({ verb, plural }) => verb === "update" && plural === "leases");
    await timers.advance(2_000);
    timers.stall(9_000);
    await eventually(() => expect(fake.requests.at(-1)).toMatchObject({ verb: "update", plural: "leases" }));
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(elector.isLeader()).toBe(true);
    timers.stall(1_000);
    expect(elector.isLeader()).toBe(false);
  });

  test("whose renewal was carried out but never answered stays leader", async () => {
    const timers = new ManualTimers();
    const { elector } = lead(timers);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    fake.faults.plan({ cut: "after" }, ({ verb, plural }) => verb === "update" && plural === "leases");
    for (let second = 0; second < 30; second++) {
      await timers.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
    expect(elector.isLeader()).toBe(true);
  });

  test("that stops keeps the lease while its work drains, and lets it go afterwards", async () => {
    let drained: () => void = () => undefined;
    const work = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const { elector, ended, stop } = lead(new ManualTimers(), () => work);
    await eventually(() => expect(elector.isLeader()).toBe(true));
    const holder = async () => (await client.resource(LEASES).get({ namespace, name: "leader" })).spec?.holderIdentity;
    stop.abort();
    await maps().list(namespace);
    expect([elector.isLeader(), await holder()]).toEqual([true, "me"]);
    drained();
    expect(await ended).toBe("ended");
    expect(await holder()).toBe("");
  });
});

describe("a watch on an optional kind", () => {
  const WIDGETS = { group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true };

  test("begins when the kind appears, and forgets its objects when it disappears; nothing waits for it", async () => {
    const available: boolean[] = [];
    const errors: unknown[] = [];
    const optional = new OptionalReflector({
      transport: client.transport,
      type: WIDGETS,
      metrics: testMetrics(),
      pollMs: 20,
      minDelayMs: 20,
      refusedDelayMs: 20,
      onAvailable: (is) => available.push(is),
      onError: (error) => errors.push(error),
    });
    const said: string[] = [];
    optional.reflector.onChange(({ key, next }) => said.push(`${next ? "+" : "-"}${key}`));
    const stop = new AbortController();
    const ended = optional.run(stop.signal);
    await eventually(() => expect(optional).toMatchObject({ settled: true, available: false }));
    expect(count("watch")).toBe(0);
    fake.serve(WIDGETS);
    await eventually(() => expect(optional).toMatchObject({ settled: true, available: true }));
    await client.resource(WIDGETS).create({ metadata: { namespace, name: "w" } });
    await eventually(() => expect(said).toEqual(["+test/w"]));
    fake.faults.plan({ answer: 503 }, ({ plural }) => plural === "/apis/example.com/v1", 3);
    await eventually(() => expect(errors).toHaveLength(3));
    expect(optional.available).toBe(true);
    fake.unserve(WIDGETS);
    await eventually(() => expect(said).toEqual(["+test/w", "-test/w"]));
    expect(available).toEqual([false, true, false]);
    stop.abort();
    await ended;
  });
});
