import { describe, expect, it } from "vitest";
import { configOf, dedicatedOf, namedEntry } from "../testing-plan.ts";
import { scalePath, scopeKey, scopeOf, scopeOfRoute } from "./worker-scope.ts";
import { workerSizing } from "./worker-sizing.ts";

const RELEASE = configOf({
  workers: {
    defaults: { replicas: 2, concurrency: 300, resources: { limits: { memory: "256Mi" } } },
    namespaces: { shop: { replicas: 3 } },
  },
});

describe("the size of workers", () => {
  it("is the release's for shared ones, field by field overridden for a namespace", () => {
    expect(workerSizing({ namespace: "other" }, RELEASE, undefined)).toMatchObject({
      wanted: { type: "fixed", replicas: 2 },
      concurrency: 300,
      resources: { limits: { memory: "256Mi" } },
    });
    expect(workerSizing({ namespace: "shop" }, RELEASE, undefined)).toMatchObject({
      wanted: { type: "fixed", replicas: 3 },
      concurrency: 300,
    });
  });

  it("is the route's for dedicated ones, with the release's resources where it has none", () => {
    const scope = { namespace: "shop", route: "orders" };
    expect(workerSizing(scope, RELEASE, dedicatedOf({}))).toMatchObject({
      wanted: { type: "fixed", replicas: 1 },
      concurrency: 500,
      resources: { limits: { memory: "256Mi" } },
    });
    const resources = { requests: { cpu: 1 } };
    expect(workerSizing(scope, RELEASE, dedicatedOf({ replicas: 0, resources }))).toMatchObject({
      wanted: { type: "fixed", replicas: 0 },
      resources,
    });
  });

  it.each([
    [{ type: "KEDA", min: 0, max: 2 }, 0],
    [{ type: "KEDA", max: 2 }, 1],
    [{ type: "HPA", max: 2 }, 1],
    [{ type: "External" }, 1],
  ] as const)("is left to an autoscaler %j, with %i at least", (autoscaling, minimum) => {
    const sizing = workerSizing({ namespace: "shop", route: "orders" }, RELEASE, dedicatedOf({ autoscaling }));
    expect(sizing).toMatchObject({ wanted: { type: "autoscaled" }, minimum });
  });
});

describe("the scope of workers", () => {
  it.each([{ namespace: "shop" }, { namespace: "shop", route: "a.b" }])("is found again by its key: %j", (scope) => {
    expect(scopeOf(scopeKey(scope))).toEqual(scope);
  });

  it("is the route's own when it is dedicated", () => {
    expect(scopeOfRoute(namedEntry("a"))).toEqual({ namespace: "shop" });
    expect(scopeOfRoute(namedEntry("a", { worker: { dedicated: {} } }))).toEqual({ namespace: "shop", route: "a" });
  });

  it("has a path for autoscalers", () => {
    expect([scalePath({ namespace: "shop" }), scalePath({ namespace: "shop", route: "a.b" })]).toEqual([
      "/v1/scale/shop/shared",
      "/v1/scale/shop/a.b",
    ]);
  });
});
