import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { routeKey } from "../../src/api/names.ts";
import { configSchema } from "../../src/config/schema.ts";
import type { Operator } from "../../src/controllers/webhook-route/operator.ts";
import { Publications } from "../../src/controllers/webhook-route/publishing/publications.ts";
import { type RedisAccess, RedisAccessReconciler } from "../../src/controllers/webhook-route/custody/redis-access.ts";
import { type RouteObject, RouteIndex } from "../../src/controllers/webhook-route/watching/route-index.ts";
import {
  type ShelfKeeper,
  ShelfReconciler,
  type ShelfRound,
} from "../../src/controllers/webhook-route/custody/shelf-reconciler.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { NAMESPACES, type Namespace, SECRETS } from "../../src/kube/core-types.ts";
import type { Live } from "../../src/kube/objects.ts";
import { KubeTransport } from "../../src/kube/transport.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { type FakeApiServer, startFakeApiServer } from "../support/fake-api-server/server.ts";

describe("a namespace that the cache does not know", () => {
  let api: FakeApiServer;
  let client: KubeClient;
  let rounds: ShelfRound[];
  let revoked: string[];
  let cached: Live<Namespace> | undefined;
  let routes: RouteIndex;

  beforeAll(async () => {
    api = await startFakeApiServer([NAMESPACES, SECRETS]);
    api.addNamespace("shop");
  });
  afterAll(() => api.stop());
  beforeEach(() => {
    client = new KubeClient(new KubeTransport({ auth: api.auth(), metrics: createMetrics() }));
    [rounds, revoked, cached, routes] = [[], [], undefined, new RouteIndex()];
  });
  afterEach(() => client.transport.close());

  const routeIn = (namespace: string) =>
    ({
      metadata: { namespace, name: "orders", uid: "u", resourceVersion: "1" },
      spec: { exposure: { host: "h", path: "/" } },
    }) as unknown as Live<RouteObject>;
  const operator = () =>
    ({
      client,
      routes,
      config: configSchema.parse({ redis: { urlFile: "/unused" } }),
      publications: new Publications(),
      namespace: () => cached,
      enqueue: { route: () => undefined },
    }) as unknown as Operator;
  const shelve = (namespace: string) => {
    const keeper: ShelfKeeper = {
      keep: async (round) => {
        rounds.push(round);
        return undefined;
      },
      retireQueue: async () => undefined,
    };
    return new ShelfReconciler(operator(), keeper).reconcile(namespace, new AbortController().signal);
  };
  const look = (namespace: string) => {
    const access = { revoke: async (name: string) => revoked.push(name) > 0 } as unknown as RedisAccess;
    return new RedisAccessReconciler(operator(), access).reconcile(namespace, new AbortController().signal);
  };

  test("has no shelf looked at while the API server knows it: its routes may live", async () => {
    expect(await shelve("shop")).toEqual({ requeueAfterMs: 1_000 });
    expect(rounds).toEqual([]);
  });

  test("has no shelf looked at while there are routes in it", async () => {
    routes.put("gone/orders", routeIn("gone"));
    expect(await shelve("gone")).toEqual({ requeueAfterMs: 1_000 });
    expect(rounds).toEqual([]);
  });

  test("has no live routes once the API server says that it is gone", async () => {
    expect(await shelve("gone")).toEqual({});
    expect(rounds).toMatchObject([{ namespace: "gone", live: new Set() }]);
  });

  test("has its routes taken for live as soon as it is known", async () => {
    cached = await client.resource(NAMESPACES).get({ name: "shop" });
    routes.put("shop/orders", routeIn("shop"));
    await shelve("shop");
    expect(rounds[0]?.live).toEqual(new Set([routeKey(cached.metadata.uid, "orders")]));
  });

  test("keeps its Redis user while the API server knows it", async () => {
    expect(await look("shop")).toEqual({ requeueAfterMs: 1_000 });
    expect(revoked).toEqual([]);
    expect(await look("gone")).toEqual({});
    expect(revoked).toEqual(["gone"]);
  });
});
