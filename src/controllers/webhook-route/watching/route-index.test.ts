import { describe, expect, it } from "vitest";
import type { Live } from "../../../kube/objects.ts";
import { validationOf, manifestOf } from "../route/assessment.ts";
import { RouteIndex, type RouteObject } from "./route-index.ts";

const KEY = "shop/orders";

function routeOf(resourceVersion: string, generation: number, path = "/orders"): Live<RouteObject> {
  return {
    metadata: { namespace: "shop", name: "orders", uid: "uid-1", resourceVersion, generation },
    spec: {
      exposure: { host: "hooks.example.com", path },
      verification: { none: {} },
      destinations: [{ name: "own", serviceRef: { name: "own", port: 80 } }],
    },
  };
}

describe("RouteIndex", () => {
  it("keeps the spec as one object while only the status is written, so that it is checked once", () => {
    const index = new RouteIndex();
    const first = routeOf("1", 1);
    index.put(KEY, first);
    const validation = validationOf(manifestOf(first));
    index.put(KEY, { ...routeOf("2", 1), status: { observedGeneration: 1 } });
    const second = index.get(KEY);
    expect(second?.metadata.resourceVersion).toBe("2");
    expect(second?.status).toEqual({ observedGeneration: 1 });
    expect(second?.spec).toBe(first.spec);
    expect(second && validationOf(manifestOf(second))).toBe(validation);
  });

  it("does not bring back a route that went, or was made anew, while its status was written", () => {
    const index = new RouteIndex();
    index.put(KEY, routeOf("1", 1));
    index.putWritten(KEY, routeOf("2", 1));
    expect(index.get(KEY)?.metadata.resourceVersion).toBe("2");
    index.remove(KEY);
    index.putWritten(KEY, routeOf("3", 1));
    expect(index.get(KEY)).toBeUndefined();
    const anew = { ...routeOf("4", 1), metadata: { ...routeOf("4", 1).metadata, uid: "uid-2" } };
    index.put(KEY, anew);
    index.putWritten(KEY, routeOf("5", 1));
    expect(index.get(KEY)?.metadata.uid).toBe("uid-2");
  });

  it("takes the spec of another generation, and of another object of the name", () => {
    const index = new RouteIndex();
    index.put(KEY, routeOf("1", 1));
    index.put(KEY, routeOf("2", 2, "/moved"));
    expect(index.get(KEY)?.spec.exposure.path).toBe("/moved");
    const anew = { ...routeOf("3", 2, "/anew"), metadata: { ...routeOf("3", 2).metadata, uid: "uid-2" } };
    index.put(KEY, anew);
    expect(index.get(KEY)?.spec.exposure.path).toBe("/anew");
    expect(index.ofPlace("hooks.example.com /moved")).toEqual([]);
  });

  it("ignores what is older than what it knows", () => {
    const index = new RouteIndex();
    index.put(KEY, routeOf("12", 2, "/new"));
    index.put(KEY, routeOf("9", 1, "/old"));
    expect(index.get(KEY)?.spec.exposure.path).toBe("/new");
  });
});
