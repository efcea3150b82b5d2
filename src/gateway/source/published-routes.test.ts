import { describe, expect, it } from "vitest";
import type { RouteEntry } from "../../routes/entry.ts";
import { type Publication, published, released } from "../../routes/publication.ts";
import { HOST, routeEntry } from "../testing.ts";
import { PublishedRoutes } from "./published-routes.ts";

const NOW = 1_000_000;

function encode(publication: Publication | Record<string, unknown>): string {
  return Buffer.from(JSON.stringify(publication)).toString("base64");
}

function route(name: string, seq: number, changes: Partial<RouteEntry> = {}): RouteEntry {
  return routeEntry({ name, seq, route: `key-of-${name}`, path: `/${name}`, ...changes });
}

function routesOf(...entries: readonly RouteEntry[]): PublishedRoutes {
  const routes = new PublishedRoutes((entry) => entry.suspend !== ("broken" as string));
  for (const entry of entries) routes.observe(entry.name, encode(published(entry)));
  return routes;
}

const names = (entries: readonly { readonly path: string }[]) => entries.map(({ path }) => path);

describe("PublishedRoutes", () => {
  it("tells the table what differs from what it was told, and nothing twice", () => {
    const routes = routesOf(route("a", 1), route("b", 2));
    expect(names(routes.take(NOW).put)).toEqual(["/a", "/b"]);
    routes.observe("a", encode(published(route("a", 1))));
    expect(routes.take(NOW)).toEqual({ put: [], gone: [], vanished: [] });
    routes.observe("a", encode(published(route("a", 3, { response: { status: 200 } }))));
    const { put, gone } = routes.take(NOW);
    expect(put).toMatchObject([{ path: "/a", seq: 3, response: { status: 200 } }]);
    expect(gone).toMatchObject([{ path: "/a", seq: 1 }]);
    expect(routes.seq).toBe(3);
  });

  it("leaves the old place of a route that moves", () => {
    const routes = routesOf(route("a", 1));
    routes.take(NOW);
    routes.observe("a", encode(published(route("a", 2, { path: "/moved" }))));
    const change = routes.take(NOW);
    expect(names(change.put)).toEqual(["/moved"]);
    expect(names(change.gone)).toEqual(["/a"]);
    expect(change.vanished).toEqual([{ host: HOST, path: "/a", since: NOW }]);
  });

  it("takes a released route for one that vanished when it was released, also if it never served it", () => {
    const routes = routesOf(route("a", 1));
    routes.take(NOW);
    routes.observe("a", encode(released(route("a", 1), 2, NOW - 500)));
    routes.observe("never-seen", encode(released(route("b", 1), 3, NOW + 9_999)));
    const change = routes.take(NOW);
    expect(names(change.gone)).toEqual(["/a"]);
    expect(change.vanished).toEqual([
      { host: HOST, path: "/a", since: NOW - 500 },
      { host: HOST, path: "/b", since: NOW },
    ]);
    expect(routes.seq).toBe(3);
    expect(routes.entries).toEqual([]);
  });

  it("serves on what it knows of a route whose newest publication is broken or too new, and says so", () => {
    const routes = routesOf(route("a", 1), route("b", 2), route("c", 3));
    routes.take(NOW);
    routes.observe("a", "bm8gSlNPTg==");
    routes.observe("b", encode({ ...published(route("b", 5)), minReader: 99 }));
    routes.observe("c", encode(published(route("c", 6, { suspend: "broken" as never }))));
    expect(routes.take(NOW)).toEqual({ put: [], gone: [], vanished: [] });
    expect(Object.fromEntries([...routes.rejected].map(([name, { code, seq }]) => [name, [code, seq]]))).toEqual({
      a: ["Malformed", 0],
      b: ["TooNew", 5],
      c: ["Unusable", 6],
    });
    expect(routes.entries.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(routes.seq).toBe(6);
    expect([...routes.inUse()].map(([name, data]) => [name, data])).toContainEqual([
      "a",
      encode(published(route("a", 1))),
    ]);

    routes.observe("a", encode(published(route("a", 7))));
    expect(routes.take(NOW).put).toMatchObject([{ name: "a", seq: 7 }]);
    expect([...routes.rejected.keys()]).toEqual(["b", "c"]);
  });

  it("keeps the place of a route that it never could serve unavailable, until its Secret is gone", () => {
    const routes = routesOf();
    routes.observe("new", encode({ ...published(route("new", 5)), minReader: 99 }));
    expect(routes.take(NOW).vanished).toEqual([{ host: HOST, path: "/new", since: Infinity }]);
    expect(routes.take(NOW).vanished).toEqual([]);
    routes.remove("new");
    expect(routes.take(NOW + 1).vanished).toEqual([{ host: HOST, path: "/new", since: NOW + 1 }]);
    expect(routes.rejected.size).toBe(0);
  });

  it("lets the incumbent keep its place against another route, and gives it to that one once it is free", () => {
    const routes = routesOf(route("a", 5, { path: "/same" }));
    routes.take(NOW);
    routes.observe("b", encode(published(route("b", 3, { path: "/same" }))));
    expect(routes.take(NOW).put).toEqual([]);
    expect(routes.rejected.get("b")).toMatchObject({ code: "PlaceTaken", seq: 3 });
    routes.observe("a", encode(published(route("a", 9, { path: "/same" }))));
    expect(routes.take(NOW).put).toMatchObject([{ name: "a", seq: 9 }]);
    routes.remove("a");
    expect(routes.take(NOW).put).toMatchObject([{ name: "b", seq: 3 }]);
    expect(routes.rejected.size).toBe(0);
  });

  it("takes the older of two routes at one place when it sees both for the first time", () => {
    const routes = routesOf(route("newer", 8, { path: "/same" }), route("older", 4, { path: "/same" }));
    expect(routes.take(NOW).put).toMatchObject([{ name: "older" }]);
    expect([...routes.rejected.keys()]).toEqual(["newer"]);
  });

  it("forgets what is not among all Secrets, as after a restart from an old table", () => {
    const routes = routesOf(route("a", 1), route("b", 2));
    routes.take(NOW);
    routes.retain(new Set(["b"]));
    expect(names(routes.take(NOW).gone)).toEqual(["/a"]);
    expect(routes.entries.map(({ name }) => name)).toEqual(["b"]);
  });

  it("keeps a route whose Secret was replaced under another name", () => {
    const routes = routesOf(route("a", 1));
    routes.take(NOW);
    routes.remove("a");
    routes.observe("again", encode(published(route("a", 2))));
    const change = routes.take(NOW);
    expect(change.put).toMatchObject([{ path: "/a", seq: 2 }]);
    expect(routes.entries).toHaveLength(1);
  });
});
