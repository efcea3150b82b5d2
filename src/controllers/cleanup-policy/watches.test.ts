import { beforeEach, describe, expect, test } from "vitest";
import type { PolicyObject } from "../../api/cleanup-resources.ts";
import type { Change } from "../../kube/object-cache.ts";
import type { Live } from "../../kube/objects.ts";
import type { Operator } from "../webhook-route/operator.ts";
import { RouteIndex, type RouteObject } from "../webhook-route/watching/route-index.ts";
import { CleanupIndex } from "./cleanup-index.ts";
import type { CleanupContext } from "./context.ts";
import { connectCleanup, type Shared } from "./watches.ts";

type Handler = (change: Change<PolicyObject>) => void;

let seen: Handler;
let queued: string[];
let cleanupPolicies: Set<string>;

function route(namespace: string, name: string, destination: object): [string, Live<RouteObject>] {
  const metadata = { namespace, name, uid: `uid of ${name}`, resourceVersion: "1", generation: 1 };
  const exposure = { host: "hooks.example.com", path: `/${name}` };
  const spec = { exposure, destinations: [{ name: "own", ...destination }] };
  return [`${namespace}/${name}`, { metadata, spec } as unknown as Live<RouteObject>];
}

const naming = (name: string) => ({ cleanup: { policyRef: { name } } });

beforeEach(() => {
  [queued, cleanupPolicies] = [[], new Set()];
  const routes = new RouteIndex();
  routes.put(...route("shop", "pushes", naming("expired")));
  routes.put(...route("shop", "others", naming("another")));
  routes.put(...route("elsewhere", "pushes", naming("expired")));
  routes.put(...route("shop", "inline", { url: "https://elsewhere.example.com" }));
  const quiet = { want: () => undefined, release: () => undefined, onChange: () => undefined };
  const config = { instance: "default", rbac: { scope: "Cluster", namespaces: [] } };
  const note = (queue: string) => (key: string) => void queued.push(`${queue} ${key}`);
  const destinations = { index: { ofNamespace: () => [] } };
  const operator = {
    config,
    routes,
    destinations,
    cleanupPolicies,
    children: quiet,
    enqueue: { route: note("route") },
  };
  const shared = { operator: operator as unknown as Operator, watches: { tenantSecrets: quiet, namespaces: quiet } };
  const index = new CleanupIndex({ now: () => 0 });
  const watches = { policies: { onChange: (handler: Handler) => (seen = handler) }, runs: quiet };
  connectCleanup(watches, shared as unknown as Shared, {
    ...({ config, index, isLeader: () => true } as unknown as CleanupContext),
    enqueue: note("policy"),
  });
});

function policy(resourceVersion: string, instance?: string): Live<PolicyObject> {
  const metadata = { namespace: "shop", name: "expired", uid: "uid of expired", resourceVersion };
  return { metadata, spec: { ...(instance && { instance }) } } as unknown as Live<PolicyObject>;
}
const look = (next: Live<PolicyObject> | undefined, previous?: Live<PolicyObject>) => {
  queued = [];
  seen({ key: "shop/expired", next, previous });
};

describe("a CleanupPolicy", () => {
  test("that comes or goes concerns the routes of its namespace that name it", () => {
    look(policy("1"));
    expect(queued).toEqual(["route shop/pushes", "policy shop/expired"]);
    expect([...cleanupPolicies]).toEqual(["shop/expired"]);
    look(undefined, policy("1"));
    expect(queued).toEqual(["route shop/pushes", "policy shop/expired"]);
    expect([...cleanupPolicies]).toEqual([]);
  });

  test("that is edited, or whose status is written, concerns no route", () => {
    look(policy("1"));
    look(policy("2"), policy("1"));
    expect(queued).toEqual(["policy shop/expired"]);
  });

  test("of another instance is none, and one that becomes another's is gone", () => {
    look(policy("1", "other"));
    expect([queued, [...cleanupPolicies]]).toEqual([[], []]);
    look(policy("2"), policy("1", "other"));
    expect([...cleanupPolicies]).toEqual(["shop/expired"]);
    look(policy("3", "other"), policy("2"));
    expect(queued).toEqual(["route shop/pushes", "policy shop/expired"]);
    expect([...cleanupPolicies]).toEqual([]);
  });
});
