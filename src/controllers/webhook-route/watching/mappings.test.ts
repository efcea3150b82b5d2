import { beforeEach, describe, expect, test } from "vitest";
import type { KubeObject, Live } from "../../../kube/objects.ts";
import { entryOf } from "../../../routes/testing.ts";
import { systemClock } from "../../../lib/clock.ts";
import { buildObservations, OBSERVATIONS_ANNOTATION } from "../../../routes/observations.ts";
import { GatewayObservations } from "../observing/gateway-observations.ts";
import { connectWatches } from "./mappings.ts";
import { emptySide } from "../../webhook-destination/testing.ts";
import type { Operator } from "../operator.ts";
import { Publications } from "../publishing/publications.ts";
import { ServingGateways } from "../publishing/serving.ts";
import { RouteIndex, type RouteObject } from "./route-index.ts";
import { servedSecret } from "../testing.ts";
import { configOf } from "../testing-plan.ts";
import type { Watches } from "./watches.ts";

type Handler = (change: { key: string; next?: object; previous?: object }) => void;
const WATCHES = [
  "routes",
  "namespaces",
  "entries",
  "destinations",
  "destinationEntries",
  "pods",
  "leases",
  "rings",
  "tenantSecrets",
] as const;

let handlers: Record<string, Handler>;
let queued: string[];
let routes: RouteIndex;
let publications: Publications;

function route(name: string, path: string): Live<RouteObject> {
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1" };
  return { metadata, spec: { exposure: { host: "hooks.example.com", path } } } as unknown as Live<RouteObject>;
}
const served = (name: string, path: string) => servedSecret({ ...entryOf(), namespace: "shop", name, path });

beforeEach(() => {
  handlers = {};
  queued = [];
  routes = new RouteIndex();
  publications = new Publications();
  const note = (queue: string) => (key: string) => queued.push(`${queue} ${key}`);
  const quiet = { onChange: () => undefined, want: () => undefined, release: () => undefined };
  const operator = {
    config: configOf({ gateway: { hosts: [{ host: "hooks.example.com" }, { host: "other.example.com" }] } }),
    routes,
    publications,
    unreached: new Map(),
    secrets: { forget: note("forget") },
    destinations: emptySide(),
    rings: quiet,
    children: quiet,
    gateways: new ServingGateways({ ...systemClock, now: () => 0 }),
    seen: new GatewayObservations({ now: () => 0 }),
    enqueue: {
      route: note("route"),
      destination: note("destination"),
      workers: note("workers"),
      host: note("host"),
      shelves: note("shelves"),
      access: note("access"),
    },
  };
  const watch = (name: string) => ({ ...quiet, onChange: (handler: Handler) => (handlers[name] = handler) });
  const watches = Object.fromEntries(WATCHES.map((name) => [name, watch(name)]));
  connectWatches(watches as unknown as Watches, operator as unknown as Operator);
});

describe("a place that another route takes", () => {
  test("is news to the route that is still served there although it wants another one by now", () => {
    publications.put(served("moved", "/a"));
    routes.put("shop/moved", route("moved", "/b"));
    routes.put("shop/next", route("next", "/a"));
    queued = [];
    publications.put(served("next", "/a"));
    expect(queued).toContain("route shop/moved");
  });
});

describe("another set of labels of a namespace", () => {
  const namespace = (labels: object) => ({ metadata: { name: "shop", labels } }) as unknown as KubeObject;

  test("is news to its routes, and to the hosts that they are exposed at", () => {
    routes.put("shop/orders", route("orders", "/a"));
    handlers["namespaces"]?.({ key: "shop", next: namespace({ team: "shop" }), previous: namespace({}) });
    expect(queued.toSorted()).toEqual(["host hooks.example.com/", "route shop/orders"]);
  });
});

describe("what a gateway tells of its routes", () => {
  const told = (renewTime: string, refused: number) => {
    const seen = { key: "0123456789abcdef", requests: 20, verified: 20 - refused, refused, slow: 0 };
    const annotations = { [OBSERVATIONS_ANNOTATION]: buildObservations([seen]) };
    return { metadata: { name: "lease", uid: "u", resourceVersion: renewTime, annotations }, spec: { renewTime } };
  };

  test("is news to the route that it is about, once something else is to be said of it", () => {
    publications.put(servedSecret({ ...entryOf(), name: "failing", route: "0123456789abcdef", path: "/a" }));
    publications.put(served("fine", "/b"));
    const beat = (renewTime: string, refused: number): string[] => {
      queued = [];
      handlers["leases"]?.({ key: "davit/lease", next: told(renewTime, refused) });
      return queued;
    };
    expect(beat("1", 2)).toEqual([]);
    expect(beat("2", 18)).toEqual(["route shop/failing"]);
    expect(beat("3", 19)).toEqual([]);
    expect(beat("4", 1)).toEqual(["route shop/failing"]);
  });
});

describe("values of a Secret", () => {
  const using = (name: string, resourceVersion: string, secretRefs: readonly { name: string }[]) => {
    const { metadata, spec } = route(name, `/${name}`);
    return { metadata: { ...metadata, resourceVersion }, spec: { ...spec, secretRefs } };
  };
  const change = (name: string, next?: object) => handlers["routes"]?.({ key: `shop/${name}`, ...(next && { next }) });
  const forgotten = () => queued.filter((one) => one.startsWith("forget"));

  test("are forgotten with the last route that refers to it, and not before", () => {
    for (const name of ["one", "two"]) change(name, using(name, "1", [{ name: "stripe" }]));
    change("one", using("one", "2", []));
    expect(forgotten()).toEqual([]);
    change("two");
    expect(forgotten()).toEqual(["forget shop/stripe"]);
  });
});
