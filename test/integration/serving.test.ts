import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaderLeaseName, REJECTED_ANNOTATION, SERVED_SEQ_ANNOTATION, servingLeaseName } from "../../src/api/names.ts";
import { ServingLease } from "../../src/gateway/source/serving-lease.ts";
import { ServingPods } from "../../src/gateway/source/serving-pods.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { LEASES, NAMESPACES, type Lease } from "../../src/kube/core-types.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { OBSERVATIONS_ANNOTATION, parseObservations, type RouteObservation } from "../../src/routes/observations.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { waitFor } from "../support/dev-process.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

const namespace = "davit-system";
const instance = "default";

let api: FakeApiServer;
let client: KubeClient;
beforeEach(async () => {
  api = await startFakeApiServer([LEASES, NAMESPACES]);
  api.addNamespace(namespace);
  client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
});
afterEach(async () => {
  await client.transport.close();
  await api.stop();
});

const serving = (
  podName: string,
  served: { seq: number; rejected: Map<string, { seq: number }> },
  observations: () => readonly RouteObservation[] = () => [],
) =>
  new ServingLease({
    observations,
    client,
    namespace,
    instance,
    podName,
    podUid: undefined,
    served: () => served,
    logger: silentLogger,
  });
const seqOf = async (podName: string) =>
  (await client.resource(LEASES).find({ namespace, name: servingLeaseName(podName) }))?.metadata.annotations?.[
    SERVED_SEQ_ANNOTATION
  ];

describe("a gateway's Lease", () => {
  const beats = () => api.requests.filter(({ verb }) => verb === "patch").length;

  test("claims to serve nothing beyond the rejected publications that it has no room to name", async () => {
    const rejected = new Map(
      Array.from({ length: 150 }, (_, index): [string, { seq: number }] => [`route-${index}`, { seq: 150 - index }]),
    );
    const lease = serving("pod-a", { seq: 200, rejected });
    lease.changed();
    await waitFor("the first beat", async () => (await seqOf("pod-a")) !== undefined);
    lease.stop();
    const found = await client.resource(LEASES).get({ namespace, name: servingLeaseName("pod-a") });
    const named = JSON.parse(found.metadata.annotations?.[REJECTED_ANNOTATION] ?? "") as Record<string, number>;
    expect(Object.values(named).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, seq) => seq + 1));
    expect(await seqOf("pod-a")).toBe("100");
  });

  test("tells with a beat what the gateway saw of its routes, and is never written for that alone", async () => {
    const served = { seq: 1, rejected: new Map() };
    const observed = { key: "0123456789abcdef", requests: 10, verified: 4, refused: 6, slow: 1 };
    let seen = [observed];
    const lease = serving("pod-a", served, () => seen);
    const told = async () => {
      const found = await client.resource(LEASES).get({ namespace, name: servingLeaseName("pod-a") });
      return found.metadata.annotations?.[OBSERVATIONS_ANNOTATION];
    };
    lease.changed();
    await waitFor("the first beat", async () => (await seqOf("pod-a")) === "1");
    expect(parseObservations(await told())).toEqual([observed]);
    const before = beats();
    seen = [{ ...observed, refused: 7 }];
    lease.changed();
    await sleep(400);
    expect(beats()).toBe(before);
    seen = [];
    served.seq = 2;
    lease.changed();
    await waitFor("the news", async () => (await seqOf("pod-a")) === "2");
    expect(await told()).toBeUndefined();
    lease.stop();
  });

  test("is written at once, then with news at most four times a second, and always ends at the newest", async () => {
    const served = { seq: 1, rejected: new Map() };
    const lease = serving("pod-a", served);
    lease.changed();
    await waitFor("the first beat", async () => (await seqOf("pod-a")) === "1");
    const began = performance.now();
    while (performance.now() - began < 1_000) {
      served.seq += 1;
      lease.changed();
      await sleep(10);
    }
    const most = 2 + Math.ceil((performance.now() - began) / 250);
    await waitFor("the newest", async () => (await seqOf("pod-a")) === String(served.seq));
    expect(beats()).toBeLessThanOrEqual(most + 1);
    const before = beats();
    lease.changed();
    await sleep(400);
    expect(beats()).toBe(before);
    lease.stop();
  });

  test("names at most 100 rejected publications", async () => {
    const rejected = new Map(Array.from({ length: 150 }, (_, n) => [`davit-route-${n}`, { seq: n }]));
    const lease = serving("pod-a", { seq: 1, rejected });
    lease.changed();
    await waitFor("the Lease", async () => (await seqOf("pod-a")) === "1");
    const { metadata } = await client.resource(LEASES).get({ namespace, name: servingLeaseName("pod-a") });
    expect(Object.keys(JSON.parse(metadata.annotations?.["davit.dev/rejected"] ?? "") as object)).toHaveLength(100);
    lease.stop();
  });

  test("is tried again when it could not be written", async () => {
    api.faults.plan({ answer: 500 }, ({ verb }) => verb === "patch", 3);
    const served = { seq: 1, rejected: new Map() };
    const lease = serving("pod-a", served);
    lease.changed();
    await waitFor("it to be written", async () => {
      // News that come while it cannot be written do not get lost.
      served.seq += 1;
      lease.changed();
      return (await seqOf("pod-a")) !== undefined;
    });
    await waitFor("the newest", async () => (await seqOf("pod-a")) === String(served.seq));
    expect(beats()).toBeGreaterThanOrEqual(4);
    lease.stop();
  });
});

describe("what a gateway sees of the others", () => {
  const put = (name: string, ageMs: number, labels: Lease["metadata"]["labels"] = {}) =>
    client.resource(LEASES).create({
      metadata: { namespace, name, labels },
      spec: { renewTime: new Date(Date.now() - ageMs).toISOString() },
    });
  const gateway = (pod: string, ageMs = 0, of = instance) =>
    put(servingLeaseName(pod), ageMs, { "davit.dev/component": "serving", "davit.dev/instance": of });
  /** One look as this Pod. */
  const look = async (podName: string) => {
    const pods = new ServingPods({ client, namespace, instance, podName });
    const ending = new AbortController();
    const before = api.requests.length;
    const running = pods.run(ending.signal);
    await waitFor("a look", () => api.requests.length > before);
    await sleep(50);
    ending.abort();
    await running;
    return { count: pods.count, tellsBacklog: pods.tellsBacklog };
  };

  test("counts those of its instance that renew their Leases, and itself in any case", async () => {
    expect((await look("pod-a")).count).toBe(1);
    await Promise.all([gateway("pod-a"), gateway("pod-b"), gateway("silent", 31_000), gateway("foreign", 0, "blue")]);
    await put("something-else", 0);
    expect((await look("pod-a")).count).toBe(2);
  });

  test("the backlog is told by one of them, and by none while a controller leads", async () => {
    await Promise.all([gateway("pod-a"), gateway("pod-b")]);
    const tell = async () => (await Promise.all(["pod-a", "pod-b"].map(look))).map(({ tellsBacklog }) => tellsBacklog);
    expect((await tell()).filter(Boolean)).toHaveLength(1);
    await put(leaderLeaseName(instance), 31_000);
    expect((await tell()).filter(Boolean)).toHaveLength(1);
    await client.resource(LEASES).delete({ namespace, name: leaderLeaseName(instance) });
    await put(leaderLeaseName(instance), 1_000);
    expect(await tell()).toEqual([false, false]);
  });

  test("stays what it was while the API server refuses", async () => {
    await gateway("pod-b");
    const forbidden = api.forbid(({ plural }) => plural === "leases");
    expect(await look("pod-a")).toEqual({ count: 1, tellsBacklog: false });
    forbidden();
    expect((await look("pod-a")).count).toBe(1);
  });
});
