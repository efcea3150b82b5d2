import { describe, expect, test } from "vitest";
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

function operatorWith(labels: Readonly<Record<string, string>> | undefined, state: "Syncing" | "Synced") {
  const applied: string[] = [];
  const routes = new RouteIndex();
  routes.put("shop/orders", ROUTE);
  const operator = {
    config: configOf(),
    clock: { now: () => 0, monotonic: () => 0 },
    namespace: () => ({ metadata: { name: "shop", uid: "n", resourceVersion: "1" } }),
    routes,
    publications: { inNamespace: () => [servedSecret(ENTRY)] },
    rings: { get: () => undefined },
    ringWatch: { state: () => "Synced" },
    secrets: { state: () => state, labelsOf: () => labels },
    children: {
      state: () => "Synced",
      get: () => undefined,
      isAvailable: () => false,
      list: () => [],
      ensure: async (object: object) => applied.push(JSON.stringify(object)),
    },
  };
  return { applied, reconciler: new WorkerReconciler(operator as unknown as Operator) };
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
