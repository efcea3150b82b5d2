import { describe, expect, test } from "vitest";
import { namedEntry } from "../testing-plan.ts";
import { entryFor, scopesOfRoute } from "./worker-scope.ts";

const DEDICATED = { worker: { dedicated: {} } };
const copies = { sharedCopies: [{ id: "~acme", name: "acme", limit: 1, eventTypes: [] }] };

describe("copies for WebhookDestinations of a route with workers of its own", () => {
  test("are delivered by the namespace's shared workers, which know the route without its inline destinations", () => {
    const entry = { ...namedEntry("orders", DEDICATED), ...copies };
    expect(scopesOfRoute(entry)).toEqual([{ namespace: "shop", route: "orders" }, { namespace: "shop" }]);
    expect(entryFor({ namespace: "shop", route: "orders" }, entry)).toBe(entry);
    expect(entryFor({ namespace: "shop" }, entry)).toEqual({ ...entry, destinations: [] });
    const choosing = { ...namedEntry("orders", DEDICATED), destinationIdFrom: "json:/id" };
    expect(scopesOfRoute(choosing)).toHaveLength(2);
  });

  test("are none of other workers' business", () => {
    const entry = { ...namedEntry("orders", DEDICATED), ...copies };
    expect(entryFor({ namespace: "another" }, entry)).toBeUndefined();
    expect(entryFor({ namespace: "shop", route: "another" }, entry)).toBeUndefined();
    const inline = namedEntry("orders", DEDICATED);
    expect(entryFor({ namespace: "shop" }, inline)).toBeUndefined();
    expect(scopesOfRoute({ ...namedEntry("orders"), ...copies })).toEqual([{ namespace: "shop" }]);
  });
});
