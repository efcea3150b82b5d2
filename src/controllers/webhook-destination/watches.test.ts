import { beforeEach, describe, expect, test } from "vitest";
import type { WebhookRoute } from "../../api/generated/webhook-route.ts";
import type { Live } from "../../kube/objects.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { configOf } from "../webhook-route/testing-plan.ts";
import { RouteIndex, type RouteObject } from "../webhook-route/watching/route-index.ts";
import type { Watches } from "../webhook-route/watching/watches.ts";
import { destinationEntries, knownDestinations } from "./destination-side.ts";
import { heldEntry } from "./plan.ts";
import { destinationOf, emptySide, publishedOf } from "./testing.ts";
import { connectDestinations } from "./watches.ts";

type Handler = (change: { key: string; next?: object; previous?: object }) => void;
let handlers: Record<string, Handler>;
let queued: string[];
let side: ReturnType<typeof emptySide>;

function route(name: string, spec: Partial<WebhookRoute["spec"]>): [string, Live<RouteObject>] {
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1" };
  const exposure = { host: "hooks.example.com", path: `/${name}` };
  return [`shop/${name}`, { metadata, spec: { exposure, ...spec } } as unknown as Live<RouteObject>];
}

beforeEach(() => {
  [handlers, queued, side] = [{}, [], emptySide()];
  const note = (queue: string) => (key: string) => queued.push(`${queue} ${key}`);
  const routes = new RouteIndex();
  routes.put(...route("named", { destinations: [{ name: "own", destinationRef: { name: "acme" } }] }));
  routes.put(...route("selecting", { destinationSelector: { matchLabels: { team: "a" } } }));
  routes.put(...route("choosing", { destinationSelector: { matchLabels: {}, idFrom: "json:/id" } }));
  routes.put(...route("inline", { destinations: [{ name: "own", url: "https://elsewhere.example.com" }] }));
  const quiet = { want: () => undefined, release: note("release") };
  const operator = {
    config: configOf(),
    routes,
    destinations: side,
    secrets: { forget: note("forget") },
    children: quiet,
    enqueue: { route: note("route"), destination: note("destination"), workers: note("workers") },
  };
  const watch = (name: string) => ({ ...quiet, onChange: (handler: Handler) => (handlers[name] = handler) });
  const watches = {
    destinations: watch("destinations"),
    destinationEntries: watch("entries"),
    rings: quiet,
    tenantSecrets: quiet,
  };
  connectDestinations(watches as unknown as Watches, operator as unknown as Operator);
});

const acme = (more: Parameters<typeof destinationOf>[2] = {}) => destinationOf("acme", {}, more);
const seen = (next: object | undefined, previous?: object) =>
  handlers["destinations"]?.({ key: "shop/acme", ...(next && { next }), ...(previous && { previous }) });

describe("a WebhookDestination", () => {
  test("that is published concerns the routes that name it or select it, and the workers", () => {
    seen(acme({ labels: { team: "a" } }));
    expect(queued).toEqual(["destination shop/acme"]);
    queued = [];
    side.publications.put(publishedOf(acme()));
    expect(queued.toSorted()).toEqual([
      "destination shop/acme",
      "destination shop/acme",
      "route shop/named",
      "route shop/selecting",
      "workers shop",
    ]);
  });

  test("that says something new to workers only concerns no route", () => {
    seen(acme());
    side.publications.put(publishedOf(acme()));
    queued = [];
    side.publications.put({ ...publishedOf(acme(), { seq: 2_000, digest: "e" }), resourceVersion: "2" });
    expect(queued).toEqual(["destination shop/acme", "workers shop"]);
  });

  test("whose labels change concerns the routes that select it by the old or the new ones", () => {
    seen(acme());
    queued = [];
    const next = acme({ labels: { team: "a" }, resourceVersion: "2" });
    seen(next, acme());
    expect(queued).toEqual(["destination shop/acme", "route shop/named", "route shop/selecting"]);
    queued = [];
    seen(acme({ resourceVersion: "3" }), next);
    expect(queued).toContain("route shop/selecting");
  });

  test("that is of another instance is none of this one's", () => {
    seen(destinationOf("acme", { instance: "another" }));
    expect([queued, side.index.size]).toEqual([[], 0]);
  });

  test("that goes gives the id to whoever else wants it once its publication is gone", () => {
    seen(destinationOf("acme", { id: "x" }));
    const other = destinationOf("other", { id: "x" });
    handlers["destinations"]?.({ key: "shop/other", next: other });
    side.publications.put(publishedOf(destinationOf("acme", { id: "x" })));
    seen(undefined, acme());
    queued = [];
    side.publications.drop(publishedOf(acme()).name);
    expect(queued).toContain("destination shop/other");
  });
});

describe("what workers and routes are told", () => {
  test("is nothing at all while one that is published is not compiled", () => {
    seen(acme());
    const published = publishedOf(acme());
    side.publications.put(published);
    expect(destinationEntries(side, "shop")).toBeUndefined();
    const entry = heldEntry(published.publication ?? { destination: "", name: "", seq: 0 });
    side.compiled.put("shop/acme", entry);
    expect(destinationEntries(side, "shop")).toEqual([entry]);
    side.publications.drop(published.name);
    expect(destinationEntries(side, "shop")).toEqual([]);
    expect(side.compiled.get("shop/acme")).toBeUndefined();
  });

  test("leaves out one that was made anew and has not published itself", () => {
    seen(acme({ labels: { team: "a" } }));
    side.publications.put(publishedOf(acme(), { limit: 3 }));
    expect(knownDestinations(side, "shop")).toEqual([{ name: "acme", id: "~acme", labels: { team: "a" }, limit: 3 }]);
    seen(acme({ uid: "another", resourceVersion: "2" }), acme());
    expect(knownDestinations(side, "shop")).toEqual([]);
  });
});
