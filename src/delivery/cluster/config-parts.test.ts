import { describe, expect, it } from "vitest";
import { workerName } from "../../api/names.ts";
import type { DestinationEntry, RouteEntry } from "../../routes/entry.ts";
import { entryOf } from "../../routes/testing.ts";
import { encodeWorkerConfig, type WorkerConfig } from "../../routes/worker-config.ts";
import { ConfigParts, ownershipOf, ownsOf } from "./config-parts.ts";

function route(name: string, seq = 1, changes: Partial<RouteEntry> = {}): RouteEntry {
  return { ...entryOf(), name, route: `key-${name}`, seq, keys: [], ...changes };
}

function bytes(parts: number, routes: readonly unknown[], changes: Partial<WorkerConfig> = {}): Buffer {
  const config = { schema: 1, minReader: 1, seq: 1, instance: "default", namespace: "shop", parts };
  return encodeWorkerConfig({ ...config, routes: routes as RouteEntry[], ...changes });
}

const names = (parts: ConfigParts) => parts.routes?.map(({ name, seq }) => `${name}@${seq}`).toSorted();

describe("ConfigParts", () => {
  it("knows nothing before the first part, and that there is nothing to do when it is empty", () => {
    const parts = new ConfigParts();
    expect(parts.routes).toBeUndefined();
    parts.observe(0, bytes(1, []));
    expect(parts.routes).toEqual([]);
  });

  it("waits for every part that part 0 speaks of", () => {
    const parts = new ConfigParts();
    parts.observe(0, bytes(2, [route("a")]));
    expect(parts).toMatchObject({ parts: 2, routes: undefined });
    parts.observe(1, bytes(2, [route("b")]));
    expect(names(parts)).toEqual(["a@1", "b@1"]);
  });

  it("holds what it knows while the number of parts changes, so that no route is missing meanwhile", () => {
    const parts = new ConfigParts();
    parts.observe(0, bytes(1, [route("a"), route("b")]));
    parts.observe(1, bytes(2, [route("b", 2)]));
    expect(names(parts)).toEqual(["a@1", "b@1"]);
    parts.observe(0, bytes(2, [route("a", 2)]));
    expect(names(parts)).toEqual(["a@2", "b@2"]);
    parts.observe(0, bytes(1, [route("a", 3)]));
    expect(names(parts)).toEqual(["a@3"]);
  });

  it("takes no part for one of the new config that is still of the one before", () => {
    const parts = new ConfigParts();
    for (const [part, name] of ["a", "b", "c"].entries()) parts.observe(part, bytes(3, [route(name)]));
    expect(names(parts)).toEqual(["a@1", "b@1", "c@1"]);
    parts.observe(0, bytes(2, [route("a", 2)]));
    expect(names(parts)).toEqual(["a@1", "b@1", "c@1"]);
    parts.observe(1, bytes(2, [route("b", 2), route("c", 2)]));
    expect(names(parts)).toEqual(["a@2", "b@2", "c@2"]);
  });

  it("knows WebhookDestinations of all parts, and keeps the last good one of an entry it cannot use", () => {
    const destination = (id: string, seq: number) => ({ ...entryOf().destinations[0], id, seq }) as DestinationEntry;
    const parts = new ConfigParts();
    const known = () => parts.destinations.map(({ id, seq }) => `${id}@${seq}`).toSorted();
    parts.observe(0, bytes(2, [], { destinations: [destination("~a", 1), destination("~b", 1)] }));
    expect(known()).toEqual([]);
    parts.observe(1, bytes(2, [], { destinations: [destination("~c", 1)] }));
    expect(known()).toEqual(["~a@1", "~b@1", "~c@1"]);
    const broken = { ...destination("~c", 2), retry: "often" } as unknown as DestinationEntry;
    parts.observe(1, bytes(2, [], { destinations: [broken] }));
    expect(known()).toEqual(["~a@1", "~b@1", "~c@1"]);
    expect([...parts.rejected.keys()]).toEqual(["destination ~c"]);
    parts.observe(1, bytes(2, [], { destinations: [] }));
    expect([known(), parts.rejected.size]).toEqual([["~a@1", "~b@1"], 0]);
  });

  it("goes on with the last good version of a part that is broken or too new, and says so", () => {
    const parts = new ConfigParts();
    parts.observe(0, bytes(1, [route("a")], { seq: 5 }));
    parts.observe(0, bytes(1, [route("a", 2)], { minReader: 2, seq: 6 }));
    expect(names(parts)).toEqual(["a@1"]);
    expect(parts.seq).toBe(5);
    expect(parts.rejected.get("part 0")).toMatchObject({ code: "TooNew" });
    parts.observe(0, Buffer.from("nonsense"));
    expect(parts.rejected.get("part 0")).toMatchObject({ code: "Malformed" });
    parts.observe(0, bytes(1, [route("a", 3)]));
    expect(names(parts)).toEqual(["a@3"]);
    expect(parts.rejected.size).toBe(0);
  });

  it("goes on with the last good version of a single entry, while the others change", () => {
    const parts = new ConfigParts();
    parts.observe(0, bytes(1, [route("a"), route("b")]));
    const tooNew = { ...route("a", 2), minReader: 2 };
    parts.observe(0, bytes(1, [tooNew, route("b", 2), { ...route("c"), destinations: [{}] }]));
    expect(names(parts)).toEqual(["a@1", "b@2"]);
    expect([...parts.rejected].map(([what, { code }]) => [what, code])).toEqual([
      ["shop/a", "TooNew"],
      ["shop/c", "Malformed"],
    ]);
    parts.observe(0, bytes(1, [route("b", 3)]));
    expect(names(parts)).toEqual(["b@3"]);
  });
});

describe("whose tickets a worker takes", () => {
  const dedicated = route("dedicated", 1, { worker: { dedicated: true, concurrency: 1 } });
  const routes = [route("shared"), dedicated];
  const place = (configName: string) => ({ instance: "default", namespace: "shop", configName });

  it.each([false, true])("is told by the workers' name (in the release's namespace: %s)", (inRelease) => {
    const configName = workerName("default", { namespace: "shop" }, inRelease);
    expect(ownershipOf(place(configName), routes)).toEqual({ type: "shared" });
  });

  it("is the route's for workers that are named after it, and nobody's as long as their config lacks it", () => {
    const configName = workerName("default", { namespace: "shop", route: "dedicated" });
    expect(ownershipOf(place(configName), routes)).toEqual({ type: "dedicated", route: dedicated });
    expect(ownershipOf(place(configName), [route("shared")])).toBeUndefined();
  });

  it("are those of shared routes and of WebhookDestinations, never of routes that are dedicated or unknown", () => {
    const owns = ownsOf({ type: "shared" }, routes);
    expect(["key-shared/orders", "key-shared/removed", "~acme"].map(owns)).toEqual([true, true, true]);
    expect(["key-dedicated/orders", "key-unknown/orders", "odd"].map(owns)).toEqual([false, false, false]);
  });

  it("are those of one route for its own workers", () => {
    const owns = ownsOf({ type: "dedicated", route: dedicated }, routes);
    expect(owns("key-dedicated/orders")).toBe(true);
    expect(["key-shared/orders", "~acme"].map(owns)).toEqual([false, false]);
  });
});
