import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaderLeaseName, signingRingSecretName } from "../../src/api/names.ts";
import { configSchema } from "../../src/config/schema.ts";
import type { Operator } from "../../src/controllers/webhook-route/operator.ts";
import { Publications } from "../../src/controllers/webhook-route/publishing/publications.ts";
import { type RouteObject, RouteIndex } from "../../src/controllers/webhook-route/watching/route-index.ts";
import { Sweep } from "../../src/controllers/webhook-route/children/sweep.ts";
import { servedSecret } from "../../src/controllers/webhook-route/testing.ts";
import { WEBHOOK_DESTINATIONS } from "../../src/controllers/webhook-destination/destination-types.ts";
import { WEBHOOK_ROUTES } from "../../src/controllers/webhook-route/route-types.ts";
import { destinationOf, emptySide, publishedOf } from "../../src/controllers/webhook-destination/testing.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { LEASES, NAMESPACES } from "../../src/kube/core-types.ts";
import { EVENTS, EventRecorder } from "../../src/kube/event-recorder.ts";
import type { Live } from "../../src/kube/objects.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { entryOf, routeOf } from "../../src/routes/testing.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

const RELEASE = "davit-system";

describe("a sweep", () => {
  let api: FakeApiServer;
  let client: KubeClient;
  let events: EventRecorder;
  let publications: Publications;
  let routes: RouteIndex;
  let queued: string[];
  let destinations: ReturnType<typeof emptySide>;
  let rings: { readonly namespace: string; readonly name: string }[];
  let removed: string[];
  let ending: AbortController;
  let swept: Promise<void>;

  beforeEach(async () => {
    api = await startFakeApiServer([NAMESPACES, LEASES, EVENTS, WEBHOOK_ROUTES, WEBHOOK_DESTINATIONS]);
    api.addNamespace(RELEASE);
    client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
    const reporting = { reportingController: "davit.dev/controller", reportingInstance: "here" };
    events = new EventRecorder({ client, ...reporting });
    [destinations, rings, removed] = [emptySide(), [], []];
    [publications, routes, queued, ending] = [new Publications(), new RouteIndex(), [], new AbortController()];
    await client.resource(LEASES).create({
      metadata: { namespace: RELEASE, name: leaderLeaseName("default") },
      spec: { holderIdentity: "here" },
    });
  });
  afterEach(async () => {
    ending.abort();
    await swept;
    await client.transport.close();
    await api.stop();
  });

  const publish = (name: string) => {
    const route = routeOf({ exposure: { host: "hooks.example.com", path: `/${name}` } });
    publications.put(servedSecret(entryOf({ route: { ...route, metadata: { ...route.metadata, name } } })));
  };
  const publishMany = (count: number) => {
    for (let n = 0; n < count; n++) publish(`orders-${n}`);
  };
  const apply = (name: string) => {
    const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1" };
    const spec = { exposure: { host: "hooks.example.com", path: `/${name}` } };
    routes.put(`shop/${name}`, { metadata, spec } as unknown as Live<RouteObject>);
  };
  /** Sweeps every 10 ms. */
  const start = () => {
    const metrics = createMetrics();
    const config = configSchema.parse({ namespace: RELEASE, redis: { urlFile: "/unused" } });
    const operator = {
      client,
      config,
      events,
      publications,
      routes,
      logger: createLogger("controller", { level: "silent" }),
      children: { list: () => [] },
      destinations,
      rings: { all: () => rings, remove: async ({ name }: { name: string }) => removed.push(name) },
      namespace: (name: string) => ({ metadata: { name } }),
      enqueue: {
        route: (key: string) => queued.push(key),
        destination: (key: string) => queued.push(`destination ${key}`),
      },
    } as unknown as Operator;
    const clock = { now: () => 0, monotonic: () => 0 };
    const sweep = new Sweep(operator, { metrics, clock, isSynced: () => true, firstMs: 0, periodMs: 10 });
    swept = sweep.run(ending.signal);
    return async () => (await metrics.sweepHeld.get()).values.find(({ labels }) => labels.what === "entries")?.value;
  };
  const told = async () =>
    (await client.resource(EVENTS).list(RELEASE)).items.map(({ reason, note, regarding }) => ({
      reason,
      note,
      regarding: `${regarding.kind} ${regarding.name}`,
    }));

  test("that would take too much takes nothing, and says so once on the leader's Lease", async () => {
    publishMany(12);
    for (const name of ["orders-0", "orders-1"]) apply(name);
    const held = start();
    await expect.poll(held, { interval: 5 }).toBe(10);
    await expect.poll(told, { interval: 5 }).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await told()).toEqual([
      {
        reason: "SweepHeld",
        note: expect.stringMatching(
          /^10 of 12 entries have lost their WebhookRoute.*restore the WebhookRoutes and WebhookDestinations.*shop\/orders-2/,
        ),
        regarding: `Lease ${leaderLeaseName("default")}`,
      },
    ]);
    expect(queued).toEqual([]);
    // The event was not lost in a series that is written later.
    await events.flush();
    expect((await client.resource(EVENTS).list(RELEASE)).items[0]?.series).toBeUndefined();
  });

  test("says it again when it happens anew", async () => {
    publishMany(10);
    const held = start();
    await expect.poll(told, { interval: 5 }).toHaveLength(1);
    for (let n = 0; n < 10; n++) apply(`orders-${n}`);
    await expect.poll(held, { interval: 5 }).toBe(0);
    publish("orders-10");
    for (let n = 0; n < 10; n++) routes.remove(`shop/orders-${n}`);
    await expect.poll(told, { interval: 5 }).toHaveLength(2);
  });

  test("looks after what is published of WebhookDestinations that are gone, and leaves those alone that are there", async () => {
    for (const name of ["gone", "there"]) destinations.publications.put(publishedOf(destinationOf(name)));
    destinations.index.put("shop/there", destinationOf("there"));
    start();
    await expect.poll(() => queued, { interval: 5 }).toContain("destination shop/gone");
    expect(queued).not.toContain("destination shop/there");
  });

  test("takes no ring of a key that a WebhookDestination signs with", async () => {
    const signing = (name: string) => ({ scheme: "StandardWebhooks", secretRef: { name, key: "k" } }) as const;
    const ringOf = (secret: string) => signingRingSecretName("default", "shop", secret, "k");
    destinations.index.put("shop/acme", destinationOf("acme", { signing: signing("used") }));
    rings = ["used", "left"].map((secret) => ({ namespace: "shop", name: ringOf(secret) }));
    start();
    await expect.poll(() => removed, { interval: 5 }).toEqual([ringOf("left")]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(new Set(removed)).toEqual(new Set([ringOf("left")]));
  });

  test("takes what is few, and tells nobody", async () => {
    publish("orders");
    start();
    await expect.poll(() => queued, { interval: 5 }).toContain("shop/orders");
    expect(await told()).toEqual([]);
  });
});
