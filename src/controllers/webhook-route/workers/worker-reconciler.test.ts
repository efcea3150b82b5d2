import { describe, expect, test } from "vitest";
import { workerName } from "../../../api/names.ts";
import type { Config } from "../../../config/schema.ts";
import type { RouteEntry } from "../../../routes/entry.ts";
import { entryOf } from "../../../routes/testing.ts";
import type { Operator } from "../operator.ts";
import { RouteIndex, type RouteObject } from "../watching/route-index.ts";
import { servedSecret } from "../testing.ts";
import { configOf } from "../testing-plan.ts";
import { WorkerReconciler } from "./worker-reconciler.ts";

const ENTRY = { ...entryOf(), namespace: "shop", name: "orders", worker: { dedicated: true, concurrency: 1 } };
const ROUTE = {
  metadata: { namespace: "shop", name: "orders", uid: "u", resourceVersion: "1" },
  spec: {
    exposure: { host: ENTRY.host, path: ENTRY.path },
    worker: { dedicated: { env: [{ name: "P", valueFrom: { secretKeyRef: { name: "database", key: "password" } } }] } },
  },
} as unknown as RouteObject & { metadata: { uid: string; resourceVersion: string } };

type Child = {
  readonly kind: string;
  readonly object: { readonly metadata: { readonly name: string; readonly namespace: string } };
};

/** @param live children that there are, of which those of `scope` are the workers' own */
function operatorWith(
  labels: Readonly<Record<string, string>> | undefined,
  state: "Syncing" | "Synced",
  {
    config = configOf(),
    live = [],
    entry = ENTRY,
  }: { config?: Config; live?: readonly Child[]; entry?: RouteEntry } = {},
) {
  const applied: string[] = [];
  const removed: string[] = [];
  const routes = new RouteIndex();
  routes.put("shop/orders", ROUTE);
  const operator = {
    config,
    clock: { now: () => 0, monotonic: () => 0 },
    namespace: () => ({ metadata: { name: "shop", uid: "n", resourceVersion: "1" } }),
    routes,
    publications: { inNamespace: () => [servedSecret(entry)] },
    rings: { get: () => undefined },
    ringWatch: { state: () => "Synced" },
    secrets: { state: () => state, labelsOf: () => labels },
    children: {
      state: () => "Synced",
      get: () => undefined,
      isAvailable: () => false,
      list: (namespace: string) => live.filter(({ object }) => object.metadata.namespace === namespace),
      remove: async (kind: string, { metadata }: Child["object"]) => {
        removed.push(`${kind} ${metadata.namespace}/${metadata.name}`);
      },
      ensure: async (object: object) => applied.push(JSON.stringify(object)),
    },
  };
  return { applied, removed, reconciler: new WorkerReconciler(operator as unknown as Operator) };
}

describe("workers with variables from Secrets", () => {
  test("are not touched before it is known which Secrets may be used", async () => {
    const { applied, reconciler } = operatorWith(undefined, "Syncing");
    expect(await reconciler.reconcile("shop/orders", new AbortController().signal)).toEqual({ requeueAfterMs: 200 });
    expect(applied).toEqual([]);
  });

  test.each([
    ["with the label refer to it", { "davit.dev/use": "true" }, true],
    ["without the label do not", {}, false],
    ["that is not there yet do not either", undefined, false],
  ])("%s", async (_, labels, isReferred) => {
    const { applied, reconciler } = operatorWith(labels, "Synced");
    await reconciler.reconcile("shop/orders", new AbortController().signal);
    const deployment = applied.find((object) => object.includes('"kind":"Deployment"')) ?? "";
    expect(deployment.includes('"name":"database"')).toBe(isReferred);
    expect(deployment).toContain('"key":"password"');
  });
});

describe("rights of workers that run in the release's namespace", () => {
  const config = configOf({ redis: { urlFile: "/redis/url", users: "Shared" } });
  const scope = { namespace: "shop", route: "orders" };
  const name = workerName("default", scope, true);
  const OWN = { labels: { "davit.dev/component": "worker" }, annotations: { "davit.dev/route": "shop/orders" } };
  const role = (changes: object = {}): Child => ({
    kind: "Role",
    object: {
      metadata: {
        name,
        namespace: "shop",
        ...OWN,
        ...changes,
      },
    },
  });
  const cleanup = {
    ...ENTRY,
    destinations: ENTRY.destinations.map((one) => ({ ...one, target: { type: "cleanup" as const, policy: "p" } })),
  };

  test("go with the last cleanup destination of their routes, and nobody else's with them", async () => {
    const live = [role(), role({ name: "other", annotations: { "davit.dev/route": "shop/other" } })];
    const { removed, reconciler } = operatorWith({}, "Synced", { config, live });
    await reconciler.reconcile("shop/orders", new AbortController().signal);
    expect(removed).toEqual([`Role shop/${name}`]);
  });

  test("stay as long as there is one", async () => {
    const { applied, removed, reconciler } = operatorWith({}, "Synced", { config, live: [role()], entry: cleanup });
    await reconciler.reconcile("shop/orders", new AbortController().signal);
    expect(removed).toEqual([]);
    expect(applied.filter((object) => object.includes("cleanupruns"))).toHaveLength(1);
  });
});
