import { hash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { destinationId, routeKey } from "../../api/names.ts";
import type { DestinationPublication } from "../../routes/destination-publication.ts";
import { DirectoryIndex } from "./directory-index.ts";

const publication = (name: string, change: Partial<DestinationPublication> = {}): DestinationPublication => ({
  schema: 1,
  minReader: 1,
  seq: 1,
  namespace: "shop",
  name,
  uid: `uid of ${name}`,
  id: name,
  destination: destinationId(change.id ?? name) ?? "",
  digest: "",
  tokenHashes: [],
  ...change,
});
const ORDERS = { namespace: "shop", name: "orders" };

describe("the directory of a cluster", () => {
  let index: DirectoryIndex;
  beforeEach(() => {
    index = new DirectoryIndex();
    index.putNamespace("shop", "uid-1");
  });
  const reaches = (destination: string) => index.route("shop", "orders")?.mayReach(destination);

  test("gives a route the key of its namespace's UID, and none while that is unknown", () => {
    index.putRoute(ORDERS, {});
    expect(index.route("shop", "orders")?.route).toBe(routeKey("uid-1", "orders"));
    index.putNamespace("shop", "uid-2");
    expect(index.routes("shop").map(({ route }) => route)).toEqual([routeKey("uid-2", "orders")]);
    index.putNamespace("shop", undefined);
    expect([index.route("shop", "orders"), index.routes("shop")]).toEqual([undefined, []]);
  });

  test("lets a route go that is gone", () => {
    index.putRoute(ORDERS, {});
    index.putRoute(ORDERS, undefined);
    expect(index.routes("shop")).toEqual([]);
  });

  test("knows which destination a route reaches by name", () => {
    index.putRoute(ORDERS, { destinations: [{ name: "x", destinationRef: { name: "acme" } }] });
    expect(reaches("~customer-1")).toBe(false);
    index.putPublication("s1", publication("acme", { id: "customer-1" }));
    index.putPublication("s2", publication("other"));
    expect([reaches("~customer-1"), reaches("~other")]).toEqual([true, false]);
  });

  test("knows which destination a route reaches by labels, as they are now", () => {
    index.putRoute(ORDERS, { destinationSelector: { matchLabels: { plan: "gold" } } });
    index.putPublication("s1", publication("acme"));
    expect(reaches("~acme")).toBe(false);
    index.putLabels({ namespace: "shop", name: "acme" }, { plan: "gold", more: "x" });
    expect(reaches("~acme")).toBe(true);
    index.putLabels({ namespace: "shop", name: "acme" }, undefined);
    expect(reaches("~acme")).toBe(false);
  });

  test("takes a route whose events choose for one that reaches all that it selects", () => {
    index.putRoute(ORDERS, { destinationSelector: { matchLabels: { plan: "gold" }, idFrom: "header:x-customer" } });
    for (const name of ["acme", "other"]) index.putPublication(name, publication(name));
    index.putLabels({ namespace: "shop", name: "acme" }, { plan: "gold" });
    expect([reaches("~acme"), reaches("~other"), reaches("~nobody")]).toEqual([true, false, false]);
  });

  test("keeps namespaces apart", () => {
    index.putPublication("s1", publication("acme"));
    index.putPublication("s2", publication("acme", { namespace: "bank", suspended: true }));
    expect(index.destination("shop", "acme")?.suspended).toBe(false);
    expect(index.destination("bank", "acme")?.suspended).toBe(true);
    expect(index.destinations("shop").map(({ namespace }) => namespace)).toEqual(["shop"]);
  });

  test("gives an id to whoever has it now, in whatever order the news comes", () => {
    index.putPublication("s1", publication("first", { id: "acme" }));
    index.putPublication("s2", publication("second", { id: "acme" }));
    index.putPublication("s1", undefined);
    expect(index.destination("shop", "acme")?.name).toBe("second");
    index.putPublication("s2", undefined);
    expect(index.destinations("shop")).toEqual([]);
  });

  test("finds a destination by each of its tokens, and by none that is not good any more", () => {
    const tokens = ["one", "two"].map((token) => hash("sha256", token));
    index.putPublication("s1", publication("acme", { tokenHashes: tokens }));
    expect(["one", "two", "three"].map((token) => index.byToken(token)?.name)).toEqual(["acme", "acme", undefined]);
    index.putPublication("s1", publication("acme", { tokenHashes: tokens.slice(1) }));
    expect(["one", "two"].map((token) => index.byToken(token)?.name)).toEqual([undefined, "acme"]);
    index.putPublication("s1", undefined);
    expect(index.byToken("two")).toBeUndefined();
  });

  test("opens none of two destinations that share a token, and says which they are", () => {
    const tokenHashes = [hash("sha256", "one")];
    expect(index.putPublication("s1", publication("acme", { tokenHashes }))).toEqual([]);
    expect(index.putPublication("s2", publication("other", { tokenHashes }))).toEqual(["shop/acme"]);
    expect(index.byToken("one")).toBeUndefined();
    index.putPublication("s2", publication("other"));
    expect(index.byToken("one")?.name).toBe("acme");
  });
});
